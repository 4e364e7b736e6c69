/* swap_library.c is the library of swap.c, in two forms: frames of BYTES bytes. The instructions
 * are the same, and so lie at the same addresses. */
void work(void (*function)(long))
{
	volatile char bytes[BYTES];

	bytes[0] = 1;
	function(bytes[0]);
	bytes[BYTES - 1] = 2;
}
