/* tls_library.h: the functions of libtls*.so: write the thread's own variable so many times. */
int tls_bump(int times);
int tls_late_bump(int times);
int tls_more_bump(int times);
