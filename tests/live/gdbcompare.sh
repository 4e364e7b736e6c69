# gdbcompare.sh: the addresses of expressions are those that gdb finds in the same process: in python
# with its debug package, the C library and the dynamic linker with libc6-dbg, Kerberos (in whose debug
# package dwz has shared parts: within each file, and of one plugin in a file beside them), and targets of our own.
. "$(dirname "$0")/lib.sh"

# by_gdb: "EXPR ADDRESS" for each expression of $tmp/exprs in the process $target.
by_gdb() {
	sed 's/.*/printf "& 0x%lx\\n", (unsigned long)\&(&)/' "$tmp/exprs" >"$tmp/commands"
	gdb -nx -q -batch -ex 'set debuginfod enabled off' -p "$target" -x "$tmp/commands" 2>"$tmp/gdb.err" </dev/null |
		grep ' 0x[0-9a-f]*$'
}

# by_us: the same by watchprof, four at a time; what it says of those that it refuses.
by_us() {
	set --
	while read -r expr; do
		set -- "$@" -e "$expr/1"
		[ $# -lt 8 ] || { addresses "$@" && set --; }
	done <"$tmp/exprs"
	[ $# -eq 0 ] || addresses "$@"
}

addresses() {
	"$WATCHPROF" --report=tsv -d 0.01 -p "$target" "$@" 2>&1 </dev/null |
		awk -F '\t' '$1 == "# watch" { sub("/1$", "", $2); print $2, $3 } /^watchprof:/'
}

# compared NAME: the expressions on the input; as many as there are have to agree.
compared() {
	cat >"$tmp/exprs"
	by_gdb >"$tmp/gdb.out"
	by_us >"$tmp/us.out"
	is "$1: gdb knows them all" "$(wc -l <"$tmp/gdb.out")" "$(wc -l <"$tmp/exprs")"
	is "$1: $(wc -l <"$tmp/exprs") addresses are those of gdb" "$(cat "$tmp/us.out")" "$(cat "$tmp/gdb.out")"
}

# debug_file FILE: where the debug file of this build would be.
debug_file() {
	readelf -n "$1" 2>/dev/null | sed -n 's|.*Build ID: \(..\)\(.*\)|/usr/lib/debug/.build-id/\1/\2.debug|p'
}

# has_debug FILE: is there one?
has_debug() {
	[ -e "$(debug_file "$1")" ]
}

if ! command -v gdb >/dev/null || ! command -v readelf >/dev/null; then
	skip "addresses as gdb has them" "there is no gdb here"
	done_testing
	exit
fi

python=/usr/bin/python3.11
krb5=/usr/lib/x86_64-linux-gnu/libkrb5.so.3
[ -e $krb5 ] || krb5=
plugin=/usr/lib/x86_64-linux-gnu/krb5/plugins/preauth/spake.so
[ -e $plugin ] || plugin=
if [ -x $python ]; then
	target $python -I -S -c "
import sys
if '$krb5':
    import ctypes
    ctypes.CDLL('$krb5')
    '$plugin' and ctypes.CDLL('$plugin')
print('ready', flush=True)
sys.stdin.readline()"
	if has_debug $python; then
		compared "python" <<-'END'
			_PyRuntime._finalizing
			_PyRuntime.interpreters.main
			_PyRuntime.interpreters.head->next
			_PyRuntime.interpreters.main->gc.enabled
			_PyRuntime.interpreters.main->gc.generations[1].threshold
			_PyRuntime.interpreters.main->gc.generations[2].head._gc_next
			_PyRuntime.interpreters.main->ceval.recursion_limit
			_PyRuntime.interpreters.main->threads.head->next
			_PyRuntime.ceval.signals_pending._value
			_PyRuntime.gilstate.autoInterpreterState
			*_PyRuntime.interpreters.main
			(*_PyRuntime.interpreters.main).modules
			((PyDictObject *)_PyRuntime.interpreters.main->modules)->ma_used
			PyLong_Type.tp_name
			PyLong_Type.ob_base.ob_base.ob_refcnt
			*PyLong_Type.tp_as_number
			PyLong_Type.tp_as_number->nb_add
			_Py_NoneStruct.ob_refcnt
		END
	else
		skip "python" "there is no python3.11-dbg"
	fi
	if has_debug /lib/x86_64-linux-gnu/libc.so.6; then
		compared "the C library and the dynamic linker" <<-'END'
			main_arena.mutex
			main_arena.bins[3]
			main_arena.top->mchunk_size
			*main_arena.top
			main_arena.fastbinsY[2]
			mp_.trim_threshold
			_IO_2_1_stdout_.file._flags
			_IO_2_1_stdout_.vtable
			*_IO_2_1_stdout_.file._lock
			_nl_global_locale.__locales[3]
			_nl_C_locobj.__ctype_b
			*_nl_C_locobj.__ctype_b
			_rtld_global._dl_ns[0]._ns_loaded
			_rtld_global._dl_ns[0]._ns_loaded->l_next->l_name
			_rtld_global._dl_ns[0]._ns_loaded->l_info[5]->d_tag
			_rtld_global._dl_ns[0]._ns_loaded->l_scope_mem[1]
		END
	else
		skip "the C library" "there is no libc6-dbg"
	fi
	if [ -n "$krb5" ] && has_debug "$krb5"; then
		compared "Kerberos, by dwz" <<-'END'
			krb5_fcc_ops.prefix
			krb5_fcc_ops.resolve
			krb5_cc_dfl_ops->prefix
			cc_typehead->next
			cc_typehead->ops->close
			kt_typehead->next->ops->prefix
		END
	else
		skip "Kerberos, by dwz" "there is no libkrb5-dbg"
	fi
	if [ -n "$krb5$plugin" ] && has_debug "$plugin" &&
		readelf -SW "$(debug_file "$plugin")" 2>/dev/null | grep -q gnu_debugaltlink; then
		compared "a plugin of Kerberos, by dwz with a common file" <<-'END'
			groupdefs[1]
			groupdefs[1]->reg->id
			*groupdefs[0]
			groupdefs[2]->init
			ossl_P256.reg
			ossl_P256.reg->mult_len
			ossl_P384.hash
			builtin_edwards25519.keygen
			spake_iana_p256.name
			*spake_iana_p256.m
			P256_M[3]
		END
	else
		skip "a plugin of Kerberos, by dwz with a common file" "there is none, or no libkrb5-dbg"
	fi
	go
else
	skip "python, the C library and Kerberos" "python3.11 is not installed"
fi

target "$BIN/expr-c"
compared "C" <<END
tree.parts[2].u
tree.parts[1].s2
tree.color
head->next->parts[1].f
(*(*to_head)).val
**to_head
matrix[2]
matrix[1][2]
flexible->data[5]
opaque->secret
table[1]->d
((node_t *)any)->parts[2].s1
*head->next
name[3]
counts[4]
END
go
if [ -e "$BIN/expr-cc" ]; then
	target "$BIN/expr-cc"
	compared "C++" <<-'END'
		object.b
		object.c
		object.ref
		pointer->c
		reference
		base::made
		box<int>::total
		box<long>::total
		of_int.value
		variable<int>
		inline_variable
		ns::nested.in.q[2]
	END
	go
else
	skip "C++" "there is no C++ compiler"
fi
done_testing
