// Macros that X11, windows.h, complex.h, Qt and others define do not disturb the headers. What the headers include comes
// first: it owes nothing to such macros.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#include <bits/stdc++.h>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define I (hostile)
#define None 0L
#define Success 0
#define Status int
#define Bool int
#define True 1
#define False 0
#define Always 2
#define Complex 0
#define Unsorted 0
#define Above 0
#define Below 1
#define ERROR 0
#define OPTIONAL
#define IN
#define OUT
#define near
#define far
#define small char
#define interface struct
#define DELETE 0x00010000L
#define CONST const
#define VOID void
#define BOOL int
#define TRUE 1
#define FALSE 0
#define ABSOLUTE 1
#define RELATIVE 2
#define emit
#define slots
#define signals public
#define foreach(x, y) for (x : y)
#define forever for (;;)
#define unix 1
#define linux 1
#define major(x) (x)
#define minor(x) (x)
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define CHECK(x) (hostile)
#define LOG(x) (hostile)
#define ASSERT(x) (hostile)
#define EXPECT(x) (hostile)
#define DEBUG 1
#define VERSION "1"
#define B0 0
#define OK 0
#define ERR (-1)

#include <all_headers.hpp>
