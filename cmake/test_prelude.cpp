// The object library test_prelude needs one source; what it is for is its precompiled header.
