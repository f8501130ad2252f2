//! Child processes that do not outlive their parent, however it ends.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::{
        OnceLock,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use nix::sys::{prctl, signal::Signal};

type Order = (Command, Sender<io::Result<Child>>);

/// Spawns `command` so that the kernel kills it (SIGKILL) when this process dies.
///
/// The kernel ties that to the *thread* that spawned the child, so all children are spawned by one thread, which lives
/// as long as the process.
///
/// # Errors
/// Those of [`Command::spawn`].
pub fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Sender<Order>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox): (Sender<Order>, Receiver<Order>) = channel();
        thread::spawn(move || {
            for (mut command, answer) in inbox {
                die_with_parent(&mut command);
                // Who ordered may be gone, then nobody wants the answer.
                drop(answer.send(command.spawn()));
            }
        });
        orders
    });
    let (answer, child) = channel();
    let gone = || io::Error::other("the spawner thread is gone");
    spawner.send((command, answer)).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

#[expect(
    unsafe_code,
    reason = "only a pre-exec hook can ask the kernel to end a child with its parent"
)]
fn die_with_parent(command: &mut Command) {
    let hook = || prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from);
    // SAFETY: the hook makes one system call and neither allocates nor takes a lock.
    unsafe { command.pre_exec(hook) };
}
