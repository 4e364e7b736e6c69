# formats.py SRC WORK: the formats as programs of other people read them: reports of the tests (tests/golden, with
# names that are hostile) and of real runs (in WORK, by formats.test). One line of TAP for each check.
import csv
import json
import re
import sys

import jsonschema

src, work = sys.argv[1:]
n = 0
bad = False


def check(name, good, told=''):
    global n, bad
    n += 1
    print('ok' if good else 'not ok', n, '-', name)
    if not good:
        bad = True
        print('#', str(told)[:2000])


def text(path):
    with open(path, encoding='utf-8', newline='') as file:
        return file.read()


def tsv_rows(path):
    lines = [line for line in text(path).split('\n') if line and not line.startswith('#')]
    names = lines[0].split('\t')
    return names, [dict(zip(names, line.split('\t'), strict=True)) for line in lines[1:]]


def tsv_head(path):
    head = {}
    for line in text(path).split('\n'):
        if line.startswith('# ') and '\t' in line:
            key, value = line[2:].split('\t', 1)
            head.setdefault(key, []).append(value)
    return head


def csv_records(path):
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file, strict=True))


def escaped(value):
    """As text_escape() has it, of text that is UTF-8."""
    if value is None:
        return '-'
    named = {'\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\'}
    return ''.join(named.get(c) or (''.join('\\x%02x' % b for b in c.encode()) if ord(c) < 32 or 127 <= ord(c) < 160 else c)
                   for c in str(value))


def undocumented(value, schema, path=''):
    """Keys that the schema has no words for."""
    found = []
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in schema.get('properties', {}):
                found.append(path + '/' + key)
            else:
                found += undocumented(part, schema['properties'][key], path + '/' + key)
    elif isinstance(value, list):
        for part in value:
            found += undocumented(part, schema.get('items', {}), path)
    return found


def check_set(name, stem):
    report = json.loads(text(stem + '.json'))
    schema = json.loads(text(src + '/schema/report.schema.json'))
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(report))
    check(name + ': json fits its schema', not errors, errors)
    check(name + ': json has nothing beyond its schema', not undocumented(report, schema), undocumented(report, schema))
    columns, rows = tsv_rows(stem + '.tsv')
    records = csv_records(stem + '.csv')
    check(name + ': csv: every record has all fields', all(None not in r and None not in r.values() for r in records))
    table = [{c: r[c] for c in columns} for r in records if r['record'] == 'row']
    check(name + ': csv and tsv have the same rows', table == rows, (table, rows))
    functions = report['functions']
    same = ('hits', 'reads', 'writes', 'unknown', 'watch', 'function', 'file', 'line', 'module', 'pid', 'blame')
    # A name that is not UTF-8 is escaped in JSON, too.
    ours = [[f[k] if f[k] == r[k] else escaped(f[k]) for k in same] for f, r in zip(functions, rows, strict=True)]
    theirs = [[r[k] if k != 'blame' or r[k] != '-' else r['function'] for k in same] for r in rows]
    check(name + ': json and tsv have the same rows', ours == theirs, [p for p in zip(ours, theirs) if p[0] != p[1]] or (len(ours), len(theirs)))
    head = tsv_head(stem + '.tsv')
    run = {r['key']: r['value'] for r in records if r['record'] == 'run'}
    keys = [k for k in head if k not in ('watch', 'process', 'warning', 'value')]
    check(name + ': csv and tsv have the same header', all(run.get(k) == head[k][0] for k in keys), (run, head))
    check(name + ': json and tsv have the same header', set(keys) <= set(report), set(keys) - set(report))
    folded = [line.rsplit(' ', 1) for line in text(stem + '.folded').split('\n') if re.search(r' \d+$', line)]
    check(name + ': folded: the stacks are the paths', [int(f[1]) for f in folded] == [p['hits'] for p in report['paths']])
    check(name + ': folded: no frame is empty', all(all(f[0].split(';')) for f in folded))


def man_words():
    return re.sub(r'\\[&e-]', '', text(src + '/man/watchprof.1'))


def check_man():
    man = man_words()
    schema = json.loads(text(src + '/schema/report.schema.json'))
    keys = set(schema['properties'])
    for array in ('watches', 'functions', 'threads', 'paths', 'processes'):
        keys |= set(schema['properties'][array]['items']['properties'])
    trace = json.loads(text(src + '/schema/trace.schema.json'))
    for kind in trace['oneOf']:
        keys |= set(kind['properties'])
    keys |= set(tsv_rows(src + '/tests/golden/report.tsv')[0])
    missing = [k for k in sorted(keys) if not re.search(r'(?<![a-z_])' + k + r'(?![a-z_])', man)]
    check('the manual page has every field', not missing, missing)


def check_trace(name, path):
    schema = json.loads(text(src + '/schema/trace.schema.json'))
    by_type = {kind['properties']['type']['const']: kind for kind in schema['oneOf']}
    objects = [json.loads(line) for line in text(path).splitlines()]
    wrong = []
    for o in objects:
        kind = by_type[o['type']]
        wrong += list(jsonschema.Draft202012Validator(kind).iter_errors(o))
        if o['type'] == 'hit':
            kind = dict(kind, properties=dict(kind['properties'], place=kind['properties']['place']['oneOf'][1]))
        wrong += undocumented({k: v for k, v in o.items() if v is not None}, kind)
    check(name + ': fits its schema, with nothing beyond', not wrong, wrong[:5])
    end = objects[-1]
    check(name + ': as many objects as hits', sum(o['type'] == 'hit' for o in objects) == end['hits'] - end['dropped'], end)


check_set('names', src + '/tests/golden/report')
check_set('no hits', src + '/tests/golden/bare')
check_man()
if work:
    check_set('a real run', work + '/real')
    check_trace('trace', work + '/trace.json')
print('1..%d' % n)
sys.exit(bad)
