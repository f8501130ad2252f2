//! What programs cannot reach.

use std::{
    fs,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::symlink,
            net::{SocketAddr, UnixListener},
        },
    },
    thread,
};

use journeyman_schemas::execution::Verdict;

use crate::{Bench, open_directory, processes_with, sleep_marker, text};

#[test]
fn network_of_the_host_is_unreachable() {
    let bench = Bench::new();
    let tcp = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let port = tcp.local_addr().expect("it is bound").port();
    let name = format!("journeyman-test-{port}");
    let abstract_name = SocketAddr::from_abstract_name(&name).expect("the name is short");
    let _abstract = UnixListener::bind_addr(&abstract_name).expect("the name is new");
    let path = bench.files.path().join("host.sock");
    let _path = UnixListener::bind(&path).expect("the path is new");
    let ran = bench.run(&format!(
        "import socket
def attempt(what, family, address, kind=socket.SOCK_STREAM):
    try:
        s = socket.socket(family, kind); s.settimeout(2); s.connect(address); s.send(b'x')
        print(what, 'REACHED')
    except OSError as error:
        print(what, 'refused')
attempt('loopback', socket.AF_INET, ('127.0.0.1', {port}))
attempt('outside', socket.AF_INET, ('1.1.1.1', 53))
attempt('outside udp', socket.AF_INET, ('1.1.1.1', 53), socket.SOCK_DGRAM)
attempt('six', socket.AF_INET6, ('::1', {port}))
attempt('abstract', socket.AF_UNIX, '\\0{name}')
attempt('path', socket.AF_UNIX, '{}')
attempt('vsock', socket.AF_VSOCK, (2, 1024))
attempt('netlink', socket.AF_NETLINK, (0, 0), socket.SOCK_RAW)
try: print(socket.gethostbyname('localhost.localdomain'))
except OSError: print('names refused')
",
        path.display()
    ));
    assert_eq!(ran.verdict, Verdict::Ok);
    assert_eq!(text(&ran).matches("refused").count(), 9, "{}", text(&ran));
}

#[test]
fn files_of_the_host_are_absent() {
    let bench = Bench::new();
    let ran = bench.run(&format!(
        "import os
for path in ['/etc/shadow', '/etc/passwd', '/root', '/home', '/sys', '/boot', '/run', '/mnt', '/opt',
             '/proc/1/root/etc/shadow', '/proc/self/root/../etc/shadow', '{0}/private', '{0}/spool', '{0}']:
    if os.path.lexists(path): print('SEEN', path)
print(sorted(os.listdir('/etc')), sorted(os.listdir('data')), sorted(os.listdir('/tmp')))
",
        bench.files.path().display()
    ));
    assert_eq!(
        text(&ran),
        "['alternatives', 'ld.so.cache'] ['test.csv', 'train.csv'] []\n"
    );
}

#[test]
fn answers_are_in_no_byte_that_can_be_read() {
    let bench = Bench::new();
    std::os::unix::fs::symlink("../private/answers.csv", bench.data_dir().join("link"))
        .expect("can write in temp");
    let ran = bench.run_within(
        "import os, sys
word, files, read = b'CANARY'[::-1], 0, 0
for top, directories, names in os.walk('/', followlinks=False):
    if top == '/': directories[:] = [d for d in directories if d not in ('usr', 'proc', 'dev')]
    for name in names:
        path = os.path.join(top, name)
        if 'site-packages' in path: continue
        try: text = open(path, 'rb').read()
        except OSError: continue
        files += 1
        if word[::-1] in text and path != '/program/program.py': print('FOUND', path)
for path in ['/work/data/../private/answers.csv', 'data/link', '/proc/1/cwd/data/link',
             '/proc/self/root/work/data/../../private/answers.csv']:
    try: print('FOUND', path, open(path).read())
    except OSError: pass
print(files > 3)
",
        |limits| limits.pids = 64,
    );
    assert_eq!(text(&ran), "True\n");
}

#[test]
fn other_processes_and_our_environment_are_invisible() {
    let ran = Bench::new().run(
        "import os
pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]
print(len(pids), os.getppid() in pids)
for pid in pids:
    for name in open(f'/proc/{pid}/environ', 'rb').read().split(b'\\0') if os.access(f'/proc/{pid}/environ', 4) else []:
        if name.split(b'=')[0].startswith((b'CARGO', b'RUST', b'SSH', b'JOURNEYMAN')): print('SEEN', name)
print(sorted(name for name in os.environ if not name.endswith('THREADS')))
print(open('/proc/self/oom_score_adj').read().strip(), os.uname().nodename)
",
    );
    let names = "['HOME', 'LANG', 'LOKY_MAX_CPU_COUNT', 'MPLBACKEND', 'PATH', 'PWD', \
                 'PYTHONDONTWRITEBYTECODE', 'TMPDIR', 'USER']";
    let output = text(&ran);
    assert!(output.starts_with(&format!("2 True\n{names}\n")), "{output}");
    assert!(
        output.ends_with(" sandbox\n") && !output.contains("SEEN"),
        "{output}"
    );
}

#[test]
fn system_is_read_only() {
    let ran = Bench::new().run(
        "import os
for path in ['/x', '/usr/x', '/etc/x', '/dev/x', '/work/data/x', '/program/x', '/var/x', '/proc/sys/kernel/hostname']:
    try: open(path, 'w').write('x'); print('WRITTEN', path)
    except OSError: pass
for change in [lambda: os.remove('/work/data/train.csv'), lambda: os.rename('/work/data', '/work/moved'),
               lambda: os.chmod('/work/data/train.csv', 0o777), lambda: os.chmod('/program/program.py', 0o777),
               lambda: os.mknod('/work/disk', 0o60600, os.makedev(8, 0)), lambda: os.setuid(0)]:
    try: change(); print('CHANGED')
    except OSError: pass
print('end')
",
    );
    assert_eq!(text(&ran), "end\n");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn dangerous_system_calls_are_refused() {
    let ran = Bench::new().run(
        "import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*arguments)
    print(name, 'DONE' if result >= 0 else errno.errorcode[ctypes.get_errno()])
call('ptrace', 101, 0, 0, 0, 0)
call('process_vm_readv', 310, os.getpid(), 0, 0, 0, 0, 0)
call('mount', 165, b'none', b'/tmp', b'tmpfs', 0, 0)
call('fsopen', 430, b'tmpfs', 0)
call('chroot', 161, b'/tmp')
call('unshare user', 272, 0x10000000)
call('clone user', 56, 0x10000000 | 17, 0, 0, 0, 0)
call('setns', 308, 0, 0)
call('keyctl', 250, 0, -3, 0)
call('add_key', 248, b'user', b'x', b'y', 1, -3)
call('io_uring', 425, 8, 0)
call('bpf', 321, 0, 0, 0)
call('perf', 298, 0, 0, -1, -1, 0)
call('userfaultfd', 323, 0)
call('kexec', 246, 0, 0, 0, 0)
call('module', 313, 0, b'', 0)
call('socket vsock', 41, 40, 1, 0)
call('socket packet', 41, 17, 3, 0)
call('clone3', 435, 0, 0)
call('x32 getpid', 0x40000000 + 39)
call('getpid', 39)
",
    );
    let output = text(&ran);
    assert_eq!(output.matches(" EPERM\n").count(), 18, "{output}");
    assert!(
        output.ends_with("clone3 ENOSYS\nx32 getpid ENOSYS\ngetpid DONE\n"),
        "{output}"
    );
}

#[test]
fn sibling_job_is_unreachable() {
    let bench = Bench::new();
    let marker = sleep_marker();
    let first = bench.request(&format!(
        "import os, socket, subprocess
for place in ['/work', '/tmp', '/dev/shm']: open(place + '/secret', 'w').write('x')
s = socket.socket(socket.AF_UNIX); s.bind('\\0sibling'); s.listen()
print(os.getuid(), flush=True)
subprocess.run(['sleep', '{marker}'])
"
    ));
    let (first, second) = thread::scope(|scope| {
        let running = scope.spawn(|| bench.executor.run(&first));
        crate::eventually("the first program runs", || processes_with(&marker) > 0);
        let second = bench.run(
            "import os, signal, socket
print(os.getuid())
for place in ['/work', '/tmp', '/dev/shm']:
    if os.path.exists(place + '/secret'): print('SEEN', place)
try: socket.socket(socket.AF_UNIX).connect('\\0sibling'); print('REACHED')
except OSError: pass
for pid in range(2, 40000):
    if pid == os.getpid(): continue
    try: os.kill(pid, 0); print('SEEN', pid)
    except OSError: pass
",
        );
        assert!(processes_with(&marker) > 0, "the first program still runs");
        first.cancel.cancel();
        let first = running
            .join()
            .expect("run does not panic")
            .expect("the sandbox itself does not fail");
        (first, second)
    });
    let (first, second) = (text(&first), text(&second));
    assert_eq!(second.lines().count(), 1, "{second}");
    if bench.is_full() {
        assert_ne!(first, second, "each job has a user of its own");
    }
}

#[test]
fn what_one_job_leaves_the_next_does_not_find() {
    let bench = Bench::new();
    let program = "import os
print([os.listdir(place) for place in ['/work', '/tmp', '/dev/shm']])
for place in ['/work', '/tmp', '/dev/shm']: open(place + '/left', 'w').write('x')
";
    let (first, second) = (bench.run(program), bench.run(program));
    assert_eq!(text(&first), "[['data'], [], []]\n");
    assert_eq!(text(&first), text(&second));
}

#[test]
fn program_of_any_bytes_is_run_or_refused_by_python() {
    let bench = Bench::new();
    let mut request = bench.request("");
    request.program = vec![0xff, 0x00, 0xfe];
    let ran = bench
        .executor
        .run(&request)
        .expect("the sandbox itself does not fail");
    assert_eq!(ran.verdict, Verdict::Error, "{}", text(&ran));
    assert_eq!(fs::read_dir(bench.data_dir()).expect("it is ours").count(), 2);
}

#[test]
fn python_may_lie_under_a_place_that_is_empty_inside() {
    let places = open_directory();
    let python = places.path().join("python");
    symlink(journeyman_testkit::data_home().join("python"), &python).expect("it is ours");
    assert!(python.starts_with("/tmp"), "{}", python.display());
    let bench = Bench::with(|config| config.python = python);
    assert_eq!(text(&bench.run("print('here')")), "here\n");
}
