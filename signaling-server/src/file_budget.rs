//! File descriptors: how many there are, and how many connections may take of them, so that episodes can always open
//! their files.

/// The connections for which there are file descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileBudget {
    /// To the web server.
    pub(crate) web: usize,
    /// To TURN, by TCP.
    pub(crate) turn: usize,
}

impl FileBudget {
    /// Divides the remaining file descriptors: a quarter for TURN.
    pub(crate) fn divide_files(all: usize, reserved: usize) -> Self {
        let free = all.saturating_sub(reserved).max(8);
        Self {
            web: free - free / 4,
            turn: free / 4,
        }
    }
}

/// Raises the limit of the process as far as the system allows, and returns the number of file descriptors that it may
/// have.
#[cfg(unix)]
pub(crate) fn raise_limit() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        Err(_) => before.current,
    };
    limit.map_or(usize::MAX, |limit| limit as usize)
}

/// Other systems have no such limit that matters.
#[cfg(not(unix))]
pub(crate) fn raise_limit() -> usize {
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_never_take_what_is_reserved() {
        for (all, reserved) in [(1_024, 256), (4_096, 256), (300, 256)] {
            let FileBudget { web, turn } = FileBudget::divide_files(all, reserved);
            assert_eq!(web + turn + reserved, all);
            assert!(web > 0 && turn > 0);
        }
        assert!(FileBudget::divide_files(usize::MAX, 256).web > 1 << 40);
    }

    #[cfg(unix)]
    #[test]
    fn the_limit_is_as_high_as_the_system_lets_it_be() {
        assert!(raise_limit() >= 256);
    }
}
