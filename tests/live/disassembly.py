"""disassembly.py: checks kinds of accesses against objdump.

disassembly.py OBJDUMP MODULE BIAS MAX < lines of "ADDRESS HITS READS WRITES", where the address lies in the
last byte of the instruction and READS and WRITES may be "-". Prints "instructions N, checked N, unclear N, wrong N"
(of those that were checked, then hits), and before it the wrong ones. What an instruction does is told here from objdump's text alone, by rules of its own.
"""
import re
import subprocess
import sys

# The last operand, if in memory, is only written; only read; or nothing of it is accessed.
WRITES = re.compile(r"mov(?!s[bw][wlq]|z|sl|zb)|set|vmov|fst|fist|fnst|stmxcsr|pextr|vpextr|cvt.*ps2ph|vextract|movnt|push|call|stos")
READS = re.compile(r"cmp[bwlq]?$|test|bt[wlq]?$|ucomi|comi|imul|mul|div|idiv|jmp|fld|fild|fadd|fmul|fsub|fdiv|ldmxcsr")
NONE = re.compile(r"lea|nop|prefetch|endbr")


def operands(text):
    return re.findall(r"(?:%[fg]s:)?[^,(]*\([^)]*\)|[^,]+", text)


def is_memory(operand):
    return bool(re.match(r"\*?(%[fg]s:)?(-?0x[0-9a-f]+)?(\(|$)", operand)) and not operand.startswith("$") \
        if "(" in operand else bool(re.match(r"\*?%[fg]s:", operand))


def kind(mnemonic, rest):
    """Set of 'r' and 'w' of the explicit operand in memory; None where these rules do not tell."""
    mnemonic = re.sub(r"^(lock|bnd|notrack|rep[nz]*|data16) +", "", mnemonic)
    parts = [part.strip() for part in operands(re.sub(r" *[<#].*", "", rest)) if part.strip()]
    memory = [part for part in parts if is_memory(part)]
    if NONE.match(mnemonic) or len(memory) != 1:
        return None
    if mnemonic.startswith("push") or mnemonic.startswith("call"):
        return {"r"}
    if mnemonic.startswith("pop") and not mnemonic.startswith("popcnt"):
        return {"w"}
    if memory[0] != parts[-1] or READS.match(mnemonic):
        return {"r", "w"} if re.match(r"xchg|xadd|cmpxchg", mnemonic) else {"r"}
    return {"w"} if WRITES.match(mnemonic) else {"r", "w"}


def instructions(objdump, module, start, stop):
    listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", f"--start-address={start:#x}",
                              f"--stop-address={stop:#x}", module], capture_output=True, text=True, check=True)
    found = re.findall(r"^ *([0-9a-f]+):\t((?:(?:lock|bnd|notrack|rep[nz]*|data16) +)*\S+) *(.*)$", listing.stdout, re.M)
    return [(int(address, 16), mnemonic, rest) for address, mnemonic, rest in found]


def main():
    objdump, module, bias, most = sys.argv[1], sys.argv[2], int(sys.argv[3], 0), int(sys.argv[4])
    sites = sorted(tuple(line.split()) for line in sys.stdin)
    sites = [(int(address, 0) - bias, int(hits), reads, writes) for address, hits, reads, writes in sites]
    step = max(1, len(sites) // most)
    code = instructions(objdump, module, min(site[0] for site in sites) - 65536, max(site[0] for site in sites) + 16)
    starts = [address for address, _, _ in code]
    count = {"instructions": 0, "checked": 0, "unclear": 0, "wrong": 0}
    at = 0
    for address, hits, reads, writes in sites[::step]:
        while at + 1 < len(starts) and starts[at + 1] <= address:
            at += 1
        expected = kind(code[at][1], code[at][2])
        got = ({"r"} if reads not in ("0", "-") else set()) | ({"w"} if writes not in ("0", "-") else set())
        if "-" in (reads, writes) or expected is None:
            count["unclear"] += hits
        elif got == expected:
            count["instructions"] += 1
            count["checked"] += hits
        else:
            count["wrong"] += hits
            print(f"{address:#x}: {code[at][1]} {code[at][2]}: reads {reads}, writes {writes}")
    print(", ".join(f"{name} {n}" for name, n in count.items()))


main()
