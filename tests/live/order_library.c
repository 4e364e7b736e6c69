/* order_library.c: a library whose BUMP writes v TIMES times; several of them define the same v, -DWEAK a weak one. */
int v;

int BUMP(void)
{
	for (int i = 0; i < TIMES; i++)
		v = i;
	return v;
}

#ifdef WEAK
#pragma weak v
#endif
