//! Processor time and memory of processes, as the system counts them. Source: proc(5).

use std::fs;

use anyhow::Context as _;

/// The processor time and memory of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Seconds of processor time, of all threads.
    pub(crate) cpu_s: f64,
    /// Bytes of its own memory: the heap and the stacks, without files.
    pub(crate) memory: u64,
    /// Threads.
    pub(crate) threads: u64,
}

/// Reads what a process uses.
///
/// # Errors
/// The process is gone, or the system has no `/proc`.
pub(crate) fn read_usage(pid: u32) -> anyhow::Result<Usage> {
    let read = |file: &str| {
        let path = format!("/proc/{pid}/{file}");
        fs::read_to_string(&path).with_context(|| format!("reading {path}"))
    };
    let (stat, status) = (read("stat")?, read("status")?);
    Ok(Usage {
        cpu_s: parse_cpu_s(&stat).with_context(|| format!("no times in {stat}"))?,
        memory: 1_024 * parse_field(&status, "RssAnon:").context("no RssAnon")?,
        threads: parse_field(&status, "Threads:").context("no Threads")?,
    })
}

/// Fields 14 and 15, in ticks of 10 ms, after a name that may hold spaces.
fn parse_cpu_s(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}

fn parse_field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Programs that run or wait to run on the machine, averaged over a minute; `None` if the system does not say.
pub(crate) fn read_load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_spaces_in_its_name_is_read() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 10 0 0 0 150 50 0 0 20 0 1 0 100 0 0";
        assert_eq!(parse_cpu_s(stat), Some(2.0));
        let status = "Name:\tload\nRssAnon:\t    2048 kB\nThreads:\t3\n";
        assert_eq!(parse_field(status, "RssAnon:"), Some(2_048));
        assert_eq!(parse_field(status, "VmSwap:"), None);
    }

    #[test]
    fn this_process_uses_memory() {
        let usage = read_usage(std::process::id()).unwrap();
        assert!(usage.memory > 0 && usage.threads > 0);
    }
}
