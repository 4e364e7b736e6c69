"""page_clear.py PAGES WATCHPROF...: gzip, bash, python3, sqlite3 and redis-server, each with PAGES different pages of its writable
mappings watched, one a run, give what they give unwatched (redis-server: to a client). A line for each program: "NAME runs N differences N refused N touched N", and
one for each difference. The choice is the same each time (SEED)."""
import os, random, shutil, subprocess, sys, tempfile, time

PAGE = 4096
LOOKS = 10
TEXT = b"".join(b"line %d of a text that is to be packed\n" % (i * i) for i in range(2000))
PROGRAMS = {
    "gzip": ["gzip", "-9", "-c", "text"],
    "bash": ["bash", "-c", """for i in 1 2 3 4 5 6 7 8 9; do x=$(echo $i | tr 1 2); a[i]=$x; done
        for ((i = 0; i < 3000; i++)); do b[i]=$i$i; done; echo ${b[*]} | md5sum
        trap "echo usr" USR1; kill -USR1 $$; echo ${a[*]} | md5sum; (exit 5); echo $?; exit 3"""],
    "python3": ["/usr/bin/python3.11", "-I", "-S", "-c", """
import hashlib, subprocess, sys, threading
r = []
t = [threading.Thread(target=lambda n: r.append(sum(i * i for i in range(n))), args=(500 * k,)) for k in range(6)]
[x.start() for x in t]; [x.join() for x in t]
print(sorted(r), subprocess.check_output(["echo", "hello"]), hashlib.md5(open("text", "rb").read()).hexdigest())
sys.exit(4)"""],
    "sqlite3": ["sqlite3", ":memory:", """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 4000) insert into t select x, x * x from c;
select sum(a), sum(b), count(*) from t; create index i on t(b); select a from t where b = 10000;
select group_concat(a) from t where a % 50 = 0;"""],
    "redis-server": ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--daemonize", "no"],
}
# What is asked of those that serve, and when they may be: their own output has the time in it.
CLIENTS = {
    "redis-server": (["redis-cli", "-s", "socket"], "socket", """flushall
eval "for i = 1, 400 do redis.call('set', 'k' .. i, i * i); redis.call('rpush', 'l', (i * 7919) % 1009) end return 400" 0
mget k1 k77 k400
sort l limit 0 20
zadd z 3 c 1 a 2 b
zrange z 0 -1 withscores
hset h f1 v1 f2 v2
hgetall h
incrby k77 5
append k77 text
getrange k77 0 -1
setrange bits 70000 x
bitcount bits
dbsize
object encoding l
multi
incr n
incr n
exec
debug digest
nonsense
"""),
}


def writable(command):
    """The pages of its writable mappings, as it has most of them; it is looked for in several runs, as it may be brief."""
    best = ""
    looks = 0
    # On a busy machine many may end before they are seen.
    while looks < LOOKS or (not best and looks < 50 * LOOKS):
        looks += 1
        began = time.monotonic()
        child = subprocess.Popen(["setarch", "-R"] + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL)
        while child.poll() is None:
            try:
                # Asked before: the mappings that are read may still be those of setarch if it is asked after.
                exe = os.readlink(f"/proc/{child.pid}/exe")
                with open(f"/proc/{child.pid}/maps") as file:
                    maps = file.read()
            except OSError:
                continue
            if os.path.basename(exe) != "setarch" and len(maps) >= len(best):
                best = maps
            if looks < LOOKS and time.monotonic() > began + 1: # it serves: one look is enough
                looks = LOOKS
                child.terminate()
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


def give(name, command):
    """What it writes, and its status; what it says besides."""
    if name not in CLIENTS:
        run = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
        return (run.stdout, run.returncode), run.stderr
    client, socket, text = CLIENTS[name]
    if os.path.exists(socket):
        os.unlink(socket)
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    while server.poll() is None and not os.path.exists(socket):
        time.sleep(0.01)
    asked = subprocess.run(client, input=text.encode(), capture_output=True)
    subprocess.run(client + ["shutdown", "nosave"], capture_output=True)
    stderr = server.communicate()[1]
    return (asked.stdout, server.returncode), stderr


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
            alone, _ = give(name, command)
            for page in choose(chance, writable(command), count):
                access = chance.choice(["rw", "w"])
                watch = f"{page + chance.randrange(0, PAGE, 8):#x}/8:{access}"
                watched, stderr = give(name, ["setarch", "-R"] + watchprof + ["-q", "--report=tsv", "-o", "report", "-d", "2", "-e", watch,
                    "--"] + command)
                report = open("report").read() if os.path.exists("report") else ""
                runs += 1
                if "\n# hits\t" not in report:
                    refused += 1
                    print(f"# {name} {watch}: refused: {stderr.decode().strip()}")
                elif watched != alone:
                    different += 1
                    print(f"# {name} {watch}: status {watched[1]}, {len(watched[0])} bytes, not {len(alone[0])}: {stderr[-300:]}")
                touched += any(f"\n# {field}\t0\n" not in report for field in ("hits", "neighbours"))
                if report:
                    os.unlink("report")
            print(f"{name} runs {runs} differences {different} refused {refused} touched {touched}", flush=True)


main()
