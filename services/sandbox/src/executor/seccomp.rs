//! The system calls that a program is refused.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Seek, Write},
    os::fd::OwnedFd,
};

use nix::libc;
use rustix::fs::{MemfdFlags, memfd_create};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// Refused with `EPERM`, whatever the arguments.
const REFUSED: &[libc::c_long] = &[
    // Tracing and memory of other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    // Wide kernel surface that no data program needs.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Flags of `clone` that make a namespace.
const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The filters in the kernel's own form, to be handed to bubblewrap for each job.
pub(super) struct Filters {
    programs: Vec<Vec<u8>>,
}

impl Filters {
    /// Compiles the filters for this machine.
    pub(super) fn compile() -> Result<Filters, seccompiler::Error> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED
            .iter()
            .chain(REFUSED_HERE)
            .map(|number| (*number, vec![]))
            .collect();
        let mut clone_rules = Vec::new();
        for flag in NEW_NAMESPACES {
            let flag = flag as u64;
            let set = SeccompCmpOp::MaskedEq(flag);
            clone_rules.push(SeccompRule::new(vec![SeccompCondition::new(
                0,
                SeccompCmpArgLen::Qword,
                set,
                flag,
            )?])?);
        }
        refused.insert(libc::SYS_clone, clone_rules);
        // vsock would reach the hypervisor past the network namespace; netlink and packet sockets are only surface.
        let not_local = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6]
            .into_iter()
            .map(|family| {
                let length = SeccompCmpArgLen::Dword;
                SeccompCondition::new(0, length, SeccompCmpOp::Ne, family as u64)
            })
            .collect::<Result<Vec<_>, _>>()?;
        refused.insert(libc::SYS_socket, vec![SeccompRule::new(not_local)?]);
        // Programs fall back from clone3 to clone only on ENOSYS, and clone3's flags cannot be filtered.
        let absent = BTreeMap::from([(libc::SYS_clone3, vec![])]);
        let mut programs = vec![
            bytes(&program(refused, libc::EPERM, arch)?),
            bytes(&program(absent, libc::ENOSYS, arch)?),
        ];
        if cfg!(target_arch = "x86_64") {
            programs.push(bytes(&refuse_x32()));
        }
        Ok(Filters { programs })
    }

    /// One readable file per filter. Bubblewrap reads each to its end, so they serve one job.
    pub(super) fn files(&self) -> std::io::Result<Vec<OwnedFd>> {
        self.programs
            .iter()
            .map(|program| {
                let mut file = File::from(memfd_create("seccomp", MemfdFlags::CLOEXEC)?);
                file.write_all(program)?;
                file.rewind()?;
                Ok(OwnedFd::from(file))
            })
            .collect()
    }
}

fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: i32,
    arch: TargetArch,
) -> Result<BpfProgram, seccompiler::Error> {
    let refuse = SeccompAction::Errno(errno as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    Ok(BpfProgram::try_from(filter)?)
}

/// On x86-64 each call has a second number, with bit 30 set, which a list of numbers would let through.
fn refuse_x32() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_BITS: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const X32_BIT: u32 = 0x4000_0000;
    const RETURN_ERRNO: u32 = 0x0005_0000;
    const RETURN_ALLOW: u32 = 0x7fff_0000;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD_WORD, 0, 0, 0),
        line(JUMP_IF_BITS, 0, 1, X32_BIT),
        line(RETURN, 0, 0, RETURN_ERRNO | libc::ENOSYS as u32),
        line(RETURN, 0, 0, RETURN_ALLOW),
    ]
}

fn bytes(program: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for line in program {
        bytes.extend(line.code.to_ne_bytes());
        bytes.extend([line.jt, line.jf]);
        bytes.extend(line.k.to_ne_bytes());
    }
    bytes
}
