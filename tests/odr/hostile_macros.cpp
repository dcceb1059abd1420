// Macros that X11, windows.h, Qt and others define do not disturb the headers, nor do those of C's own headers (I, K,
// major, B0 and more), which are included. What the headers include comes first: it owes nothing to such macros.
#include <complex.h>
#include <fcntl.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>
#if __has_include(<linux/keyboard.h>)
#include <linux/keyboard.h>
#endif
#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

#include <bits/stdc++.h>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#ifndef I  // libstdc++ leaves C's complex.h out of strict modes
#define I (__extension__ 1.0iF)
#endif
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
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define CHECK(x) (hostile)
#define LOG(x) (hostile)
#define ASSERT(x) (hostile)
#define EXPECT(x) (hostile)
#define DEBUG 1
#define VERSION "1"
#define OK 0
#define ERR (-1)

#include <all_headers.hpp>
