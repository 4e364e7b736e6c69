"""page_clear.py PAGES WATCHPROF...: gzip, bash, python3 and sqlite3, each with PAGES different pages of its writable mappings
watched, one a run, give what they give unwatched. A line for each program: "NAME runs N differences N refused N touched N", and
one for each difference. The choice is the same each time (SEED)."""
import os, random, shutil, subprocess, sys, tempfile

PAGE = 4096
LOOKS = 10
TEXT = b"".join(b"line %d of a text that is to be packed\n" % (i * i) for i in range(2000))
PROGRAMS = {
    "gzip": ["gzip", "-9", "-c", "text"],
    "bash": ["bash", "-c", """for i in 1 2 3 4 5 6 7 8 9; do x=$(echo $i | tr 1 2); a[i]=$x; done
        trap "echo usr" USR1; kill -USR1 $$; echo ${a[*]} | md5sum; (exit 5); echo $?; exit 3"""],
    "python3": ["/usr/bin/python3.11", "-I", "-S", "-c", """
import hashlib, subprocess, sys, threading
r = []
t = [threading.Thread(target=lambda n: r.append(sum(i * i for i in range(n))), args=(500 * k,)) for k in range(6)]
[x.start() for x in t]; [x.join() for x in t]
print(sorted(r), subprocess.check_output(["echo", "hello"]), hashlib.md5(open("text", "rb").read()).hexdigest())
sys.exit(4)"""],
    "sqlite3": ["sqlite3", ":memory:", """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 500) insert into t select x, x * x from c;
select sum(a), sum(b), count(*) from t; create index i on t(b); select a from t where b = 10000;
select group_concat(a) from t where a % 50 = 0;"""],
}


def writable(command):
    """The pages of its writable mappings, as it has most of them; it is looked for in several runs, as it may be brief."""
    best = ""
    for _ in range(LOOKS):
        child = subprocess.Popen(["setarch", "-R"] + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL)
        while child.poll() is None:
            try:
                with open(f"/proc/{child.pid}/maps") as file:
                    maps = file.read()
                exe = os.readlink(f"/proc/{child.pid}/exe")
            except OSError:
                continue
            if os.path.basename(exe) != "setarch" and len(maps) > len(best):
                best = maps
    pages = []
    for line in best.splitlines():
        fields = line.split()
        if " rw-p " not in line or "[v" in line:
            continue
        start, end = (int(x, 16) for x in fields[0].split("-"))
        if fields[-1] == "[stack]":
            start = end - 8 * PAGE
        # Of a large one the part that is most likely in use.
        pages.append([at for at in range(start, min(end, start + 512 * PAGE), PAGE)])
    return pages


def choose(chance, pages, n):
    """n different ones, by turns of all mappings."""
    chosen = []
    for mapping in pages:
        chance.shuffle(mapping)
    while len(chosen) < n and any(pages):
        for mapping in pages:
            if mapping and len(chosen) < n:
                chosen.append(mapping.pop())
    return chosen


def main():
    count, watchprof = int(sys.argv[1]), sys.argv[2:]
    chance = random.Random(int(os.environ.get("SEED", "1")))
    names = os.environ.get("PROGRAMS", " ".join(PROGRAMS)).split()
    names = [name for name in names if shutil.which(PROGRAMS[name][0])]
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        with open("text", "wb") as file:
            file.write(TEXT)
        for name in names:
            command = PROGRAMS[name]
            runs = different = refused = touched = 0
            alone = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
            for page in choose(chance, writable(command), count):
                access = chance.choice(["rw", "w"])
                watch = f"{page + chance.randrange(0, PAGE, 8):#x}/8:{access}"
                run = subprocess.run(["setarch", "-R"] + watchprof + ["-q", "--report=tsv", "-o", "report", "-d", "2", "-e", watch, "--"] +
                    command, capture_output=True, stdin=subprocess.DEVNULL)
                report = open("report").read() if os.path.exists("report") else ""
                runs += 1
                if "\n# hits\t" not in report:
                    refused += 1
                    print(f"# {name} {watch}: refused: {run.stderr.decode().strip()}")
                elif (run.stdout, run.returncode) != (alone.stdout, alone.returncode):
                    different += 1
                    print(f"# {name} {watch}: status {run.returncode}, {len(run.stdout)} bytes, not {len(alone.stdout)}: {run.stderr[-300:]}")
                touched += any(f"\n# {field}\t0\n" not in report for field in ("hits", "neighbours"))
                if report:
                    os.unlink("report")
            print(f"{name} runs {runs} differences {different} refused {refused} touched {touched}", flush=True)


main()
