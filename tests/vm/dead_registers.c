/*
 * dead_registers: a Linux module for the emulated machine. While it is loaded the machine is one of those virtual
 * machines that accept debug registers and never fire them: the kernel keeps and gives back what is written, and
 * nothing of it reaches the processor. For tests of what watchprof does there; the kernel's own hardware breakpoints
 * are as dead.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

/* Stands in for the functions below: the value that it returns was set by the probe. */
asm(".text; dead_return: endbr64; ret; int3");
void dead_return(void);

static int skip(struct kprobe *probe, struct pt_regs *regs)
{
	regs->ax = 0;
	regs->ip = (unsigned long)dead_return;
	return 1;
}

/* A probe that changes the instruction pointer has to have one (Documentation/trace/kprobes.rst, "Changing Execution Path"). */
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe install = {.symbol_name = "arch_install_hw_breakpoint", .pre_handler = skip, .post_handler = after};
static struct kprobe uninstall = {.symbol_name = "arch_uninstall_hw_breakpoint", .pre_handler = skip, .post_handler = after};
static struct kprobe *probes[] = {&install, &uninstall};

static int __init dead_registers_init(void)
{
	return register_kprobes(probes, ARRAY_SIZE(probes));
}

static void __exit dead_registers_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
}

module_init(dead_registers_init);
module_exit(dead_registers_exit);
MODULE_DESCRIPTION("debug registers that are accepted and never fire");
MODULE_LICENSE("GPL");
