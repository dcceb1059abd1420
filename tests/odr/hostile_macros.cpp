// Macros that X11, windows.h and complex.h define do not disturb the headers. What the headers include comes first: it owes
// nothing to such macros.
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
#define ERROR 0
#define OPTIONAL
#define IN
#define OUT

#include <all_headers.hpp>
