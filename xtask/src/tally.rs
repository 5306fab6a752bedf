//! Steps of a test run: a heading, the time, and what passed, counted from the programs' own words.

use std::io::{BufRead as _, BufReader, Write as _, stdout};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

/// Tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

/// The steps done so far.
#[derive(Default)]
pub(crate) struct Tally {
    total: Count,
    steps: Vec<(&'static str, f64, Count)>,
}

impl Tally {
    /// Does a step. One that counts nothing itself counts as one.
    ///
    /// # Errors
    /// The step's own; it is then in the summary as failed.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Count) -> Result<()>,
    ) -> Result<()> {
        println!("\n==> {name}");
        let start = Instant::now();
        let mut count = Count::default();
        let result = work(&mut count);
        match &result {
            Ok(()) if count == Count::default() => count.passed = 1,
            Err(_) if count.failed == 0 => count.failed = 1,
            _ => {}
        }
        self.total.passed += count.passed;
        self.total.failed += count.failed;
        self.steps
            .push((name, start.elapsed().as_secs_f64(), count));
        result.with_context(|| format!("the step \"{name}\" failed"))
    }

    /// Prints a line a step, and last of all `N passed, N failed`.
    pub(crate) fn summary(&self) {
        println!("\n==> summary");
        for (name, seconds, count) in &self.steps {
            let Count { passed, failed } = count;
            let verdict = if *failed == 0 { "ok" } else { "FAILED" };
            println!(
                "    {name:<34} {verdict:<6} {seconds:>6.1} s  {passed:>5} passed, {failed} failed"
            );
        }
        println!("{} passed, {} failed", self.total.passed, self.total.failed);
    }
}

/// Runs a program, shows what it prints, and adds up what it says it tested.
///
/// # Errors
/// The program fails, or cannot be started.
pub(crate) fn counted(command: &mut Command, count: &mut Count) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting `{program}`"))?;
    let lines = BufReader::new(child.stdout.take().context("the program has an output")?);
    for line in lines.split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(stdout().lock(), "{line}")?;
        let more = read(&line);
        count.passed += more.passed;
        count.failed += more.failed;
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{program}` ended with {status}");
    }
    Ok(())
}

/// Reads `test result: ok. 3 passed; 0 failed; ..` of cargo, `ℹ pass 3` and `ℹ fail 0` of Node,
/// `1 failed, 2 passed in 0.4s` of pytest, and `12 played, 0 not there yet, 0 failed` of the parity program.
fn read(line: &str) -> Count {
    let line = line.trim();
    let words: Vec<&str> = line
        .split([' ', ';', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let before = |word: &str| {
        let pair = words.windows(2).find(|pair| pair[1] == word);
        pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
    };
    let after = |prefix: &str| {
        line.strip_prefix(prefix)
            .and_then(|rest| rest.parse().ok())
            .unwrap_or(0)
    };
    if line.starts_with("test result:") {
        Count {
            passed: before("passed"),
            failed: before("failed"),
        }
    } else if line.contains(" played, ") && line.ends_with(" failed") {
        let failed = before("failed");
        Count {
            passed: before("played").saturating_sub(failed),
            failed,
        }
    } else if let [.., "in", time] | [.., "in", time, _] = words[..]
        && time
            .strip_suffix('s')
            .is_some_and(|time| time.parse::<f64>().is_ok())
    {
        Count {
            passed: before("passed"),
            failed: before("failed") + before("error") + before("errors"),
        }
    } else {
        Count {
            passed: after("\u{2139} pass "),
            failed: after("\u{2139} fail "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_programs_are_counted() {
        let cargo =
            "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(
            read(cargo),
            Count {
                passed: 12,
                failed: 3
            }
        );
        assert_eq!(
            read("\u{2139} pass 5"),
            Count {
                passed: 5,
                failed: 0
            }
        );
        assert_eq!(
            read("\u{2139} fail 2"),
            Count {
                passed: 0,
                failed: 2
            }
        );
        let parity = "12 played, 2 failed";
        assert_eq!(
            read(parity),
            Count {
                passed: 10,
                failed: 2
            }
        );
        let pytest = "2 failed, 131 passed, 5 warnings, 1 error in 72.45s (0:01:12)";
        assert_eq!(
            read(pytest),
            Count {
                passed: 131,
                failed: 3
            }
        );
        assert_eq!(read("12 passed; 3 failed"), Count::default());
    }

    #[test]
    fn a_step_that_fails_is_in_the_summary() {
        let mut tally = Tally::default();
        tally.step("fine", |_| Ok(())).unwrap();
        let error = tally.step("broken", |_| bail!("no")).unwrap_err();
        assert!(error.to_string().contains("broken"));
        assert_eq!(
            tally.total,
            Count {
                passed: 1,
                failed: 1
            }
        );
    }
}
