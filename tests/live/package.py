"""package.py: makes a package of DWARF 5 from what gcc has split off (DWARF 5, section 7.3.5).

package.py PROGRAM.dwp FILE.dwo...

Neither binutils' dwp (DWARF 4) nor llvm-dwp (which does not end with gcc's files) makes one."""
import struct
import sys

COLUMNS = {'.debug_info.dwo': 1, '.debug_abbrev.dwo': 3, '.debug_line.dwo': 4, '.debug_loclists.dwo': 5,
           '.debug_str_offsets.dwo': 6, '.debug_macro.dwo': 7, '.debug_rnglists.dwo': 8}
UNIT_SPLIT = 5


def sections(path):
    """The sections of an ELF file by name."""
    data = open(path, 'rb').read()
    start, = struct.unpack_from('<Q', data, 40)
    size, n, names = struct.unpack_from('<HHH', data, 58)
    headers = [struct.unpack_from('<IIQQQQ', data, start + i * size) for i in range(n)]
    text = data[headers[names][4]:]
    return {text[h[0]:text.index(b'\0', h[0])].decode(): data[h[4]:h[4] + h[5]] for h in headers if h[1] == 1}


def moved(offsets, by):
    """Offsets of strings, where the strings lie so much further on."""
    words = struct.unpack('<%dI' % (len(offsets) // 4 - 2), offsets[8:])
    return offsets[:8] + struct.pack('<%dI' % len(words), *[word + by for word in words])


def index(rows, columns):
    """.debug_cu_index: a table of ids, then for each unit where its parts are, then how long they are."""
    slots = 1
    while slots * 2 < len(rows) * 3:
        slots *= 2
    ids, numbers = [0] * slots, [0] * slots
    for number, (unit, _) in enumerate(rows, 1):
        slot, step = unit & (slots - 1), (unit >> 32 & (slots - 1)) | 1
        while numbers[slot]:
            slot = (slot + step) & (slots - 1)
        ids[slot], numbers[slot] = unit, number
    out = struct.pack('<HHIII', 5, 0, len(columns), len(rows), slots)
    out += struct.pack('<%dQ' % slots, *ids) + struct.pack('<%dI' % slots, *numbers)
    out += struct.pack('<%dI' % len(columns), *[COLUMNS[name] for name in columns])
    for field in 0, 1:
        for _, parts in rows:
            out += struct.pack('<%dI' % len(columns), *[parts.get(name, (0, 0))[field] for name in columns])
    return out


def elf(contents):
    """An ELF file of these sections."""
    names = b'\0'
    body, table = b'', b'\0' * 64
    for name, data in list(contents.items()) + [('.shstrtab', None)]:
        at = len(names)
        names += name.encode() + b'\0'
        data = names if data is None else data
        table += struct.pack('<IIQQQQIIQQ', at, 3 if name == '.shstrtab' else 1, 0, 0, 64 + len(body), len(data), 0, 0, 1, 0)
        body += data
    header = b'\x7fELF\2\1\1' + b'\0' * 9 + struct.pack('<HHIQQQIHHHHHH', 1, 62, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64,
                                                      len(contents) + 2, len(contents) + 1)
    return header + body + table


def main():
    merged = {name: b'' for name in COLUMNS}
    strings, rows = b'', []
    for path in sys.argv[2:]:
        found = sections(path)
        info = found['.debug_info.dwo']
        version, kind = struct.unpack_from('<HB', info, 4)
        unit, = struct.unpack_from('<Q', info, 12)
        assert version == 5 and kind == UNIT_SPLIT, path
        found['.debug_str_offsets.dwo'] = moved(found['.debug_str_offsets.dwo'], len(strings))
        rows.append((unit, {name: (len(merged[name]), len(found[name])) for name in COLUMNS if name in found}))
        for name in COLUMNS:
            merged[name] += found.get(name, b'')
        strings += found['.debug_str.dwo']
    used = [name for name in COLUMNS if merged[name]]
    contents = {name: merged[name] for name in used}
    contents.update({'.debug_str.dwo': strings, '.debug_cu_index': index(rows, used)})
    open(sys.argv[1], 'wb').write(elf(contents))


main()
