//! The parts of a process of its own that differ between operating systems.

#[cfg(not(unix))]
pub(crate) use elsewhere::{has_exited, kill_group, spawn_in_group, wait_for_bytes};
#[cfg(unix)]
pub(crate) use unix::{has_exited, kill_group, spawn_in_group, wait_for_bytes};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, ChildStdout, Command};
    use std::time::Instant;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
    use rustix::time::Timespec;

    /// Starts a process with a process group of its own.
    pub(crate) fn spawn_in_group(command: &mut Command) -> io::Result<Child> {
        command.process_group(0).spawn()
    }

    /// Waits until there is something to read; false if the deadline passes first.
    pub(crate) fn wait_for_bytes(from: &ChildStdout, deadline: Instant) -> bool {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut polled = [PollFd::new(from, PollFlags::IN)];
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) => return false,
                Ok(_) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }

    /// Looks whether a process has ended, and leaves its status to who waits for it.
    pub(crate) fn has_exited(child: &Child) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(None))
    }

    /// Ends a process and everything that it started.
    pub(crate) fn kill_group(child: &Child) {
        // The group may have ended already.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::io;
    use std::process::{Child, ChildStdout, Command};
    use std::time::Instant;

    /// Refuses: nothing here ends a process with everything that it started, or waits for its words for a limited time.
    pub(crate) fn spawn_in_group(_: &mut Command) -> io::Result<Child> {
        let why =
            "worlds in a process of their own need Linux or macOS; run the server there, or in WSL";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    /// Never called: no process was started.
    pub(crate) fn wait_for_bytes(_: &ChildStdout, _: Instant) -> bool {
        true
    }

    /// Never called: no process was started.
    pub(crate) fn has_exited(_: &Child) -> bool {
        true
    }

    /// Never called: no process was started.
    pub(crate) fn kill_group(_: &Child) {}
}
