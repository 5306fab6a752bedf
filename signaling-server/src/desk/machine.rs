//! The machine on which the server runs, as far as the system says.

use std::path::Path;
use std::thread::available_parallelism;

use server_core::warnings::MachineState;

use crate::disk::DiskRoom;
use crate::world_faults::WorldFaults;

/// Looks at the machine.
pub(super) fn read_machine(data: &Path, disk: &DiskRoom, faults: &WorldFaults) -> MachineState {
    let (disk_free, disk_size) = disk_bytes(data).unzip();
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    let broken = faults.list().into_iter();
    let broken = broken.map(|fault| {
        let line = fault.text.lines().last().unwrap_or_default();
        format!("{line} (episode {}, tick {})", fault.episode, fault.tick)
    });
    MachineState {
        disk_free,
        disk_size,
        disk_fault: disk.find_fault(),
        load: read_load(),
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        memory: read_memory(),
        broken_environments: broken.collect(),
    }
}

/// Free and all bytes of the disk of a folder.
#[cfg(unix)]
fn disk_bytes(folder: &Path) -> Option<(u64, u64)> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    Some((bytes(disk.f_bavail), bytes(disk.f_blocks)))
}

#[cfg(not(unix))]
fn disk_bytes(_: &Path) -> Option<(u64, u64)> {
    None
}

/// The load of the last minute, where the system has it in a file, as Linux has.
fn read_load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// The memory of this process, bytes.
fn read_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_disk_load_and_memory() {
        let dir = tempfile::tempdir().unwrap();
        let state = read_machine(
            dir.path(),
            &DiskRoom::new(dir.path()),
            &WorldFaults::default(),
        );
        let (free, size) = (state.disk_free.unwrap(), state.disk_size.unwrap());
        assert!(free <= size && size > 0, "{free} of {size}");
        assert!(state.load.is_some_and(|load| load >= 0.0));
        assert!(state.memory.is_some_and(|bytes| bytes > 100_000));
    }
}
