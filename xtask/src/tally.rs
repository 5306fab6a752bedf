//! Steps of a test run: a heading, the time, and what passed, counted from the programs' own words.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _, stdout};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

/// Tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

impl Count {
    fn add(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

/// A step that runs beside others, as a separate command of this program. Its output is kept until the program waits
/// for it.
pub(crate) struct Beside {
    name: &'static str,
    child: Child,
    log: PathBuf,
    start: Instant,
}

impl Beside {
    /// Starts a command of this program with its output in a file.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(name: &'static str, mut command: Command, log: PathBuf) -> Result<Self> {
        println!("\n==> {name}: from now on beside the other steps");
        let file = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("starting the step \"{name}\""))?;
        let start = Instant::now();
        Ok(Self {
            name,
            child,
            log,
            start,
        })
    }
}

impl Drop for Beside {
    /// Nobody waits for it any more: another step has failed.
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The steps done so far.
pub(crate) struct Tally {
    start: Instant,
    total: Count,
    steps: Vec<(&'static str, f64, Count)>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            total: Count::default(),
            steps: Vec::new(),
        }
    }
}

impl Tally {
    /// Does a step. One that counts nothing itself counts as one.
    ///
    /// # Errors
    /// The step's own; it is then in the summary as failed.
    pub(crate) fn step<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Count) -> Result<T>,
    ) -> Result<T> {
        println!("\n==> {name}");
        let start = Instant::now();
        let mut count = Count::default();
        let result = work(&mut count);
        match &result {
            Ok(_) if count == Count::default() => count.passed = 1,
            Err(_) if count.failed == 0 => count.failed = 1,
            _ => {}
        }
        self.total.passed += count.passed;
        self.total.failed += count.failed;
        self.steps
            .push((name, start.elapsed().as_secs_f64(), count));
        result.with_context(|| format!("the step \"{name}\" failed"))
    }

    /// Waits for a step that began beside others, and shows what it printed. One that counts nothing counts as one.
    ///
    /// # Errors
    /// The step's own; it is then in the summary as failed.
    pub(crate) fn finish(&mut self, mut beside: Beside) -> Result<()> {
        println!(
            "\n==> {}, begun {:.0} s ago",
            beside.name,
            beside.start.elapsed().as_secs_f64()
        );
        let status = beside.child.wait()?;
        let log = fs::read(&beside.log)?;
        let log = String::from_utf8_lossy(&log);
        print!("{log}");
        let mut count = Count::default();
        log.lines().for_each(|line| count.add(read(line)));
        let is_fine = status.success();
        match is_fine {
            true if count == Count::default() => count.passed = 1,
            false if count.failed == 0 => count.failed = 1,
            _ => {}
        }
        self.total.passed += count.passed;
        self.total.failed += count.failed;
        let seconds = beside.start.elapsed().as_secs_f64();
        self.steps.push((beside.name, seconds, count));
        if !is_fine {
            bail!("the step \"{}\" failed", beside.name);
        }
        Ok(())
    }

    /// The steps so far as rows of a Markdown table, and all of them together.
    pub(crate) fn rows(&self) -> String {
        let mut text =
            "| Step | Passed | Failed | Seconds |\n| --- | ---: | ---: | ---: |\n".to_owned();
        for (name, seconds, Count { passed, failed }) in &self.steps {
            text += &format!("| {name} | {passed} | {failed} | {seconds:.0} |\n");
        }
        let Count { passed, failed } = self.total;
        text + &format!("| all | {passed} | {failed} | {:.0} |\n", self.seconds())
    }

    /// How long it has taken so far.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Prints a line a step, and last of all `N passed, N failed`.
    pub(crate) fn print_summary(&self) {
        println!("\n==> summary");
        for (name, seconds, count) in &self.steps {
            let Count { passed, failed } = count;
            let verdict = if *failed == 0 { "ok" } else { "FAILED" };
            println!(
                "    {name:<34} {verdict:<6} {seconds:>6.1} s  {passed:>5} passed, {failed} failed"
            );
        }
        println!("    {:.1} minutes in all", self.seconds() / 60.0);
        println!("{} passed, {} failed", self.total.passed, self.total.failed);
    }
}

/// Runs a program, shows what it prints, and adds up what it says it tested.
///
/// # Errors
/// The program fails, or cannot be started.
pub(crate) fn run_counted(command: &mut Command, count: &mut Count) -> Result<()> {
    counted_lines(command, count, &mut |_| ())
}

/// The same, and shows each line to `note`.
///
/// # Errors
/// The program fails, or cannot be started.
pub(crate) fn counted_lines(
    command: &mut Command,
    count: &mut Count,
    note: &mut dyn FnMut(&str),
) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting `{program}`"))?;
    let lines = BufReader::new(child.stdout.take().context("the program has an output")?);
    for line in lines.split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(stdout().lock(), "{line}")?;
        count.add(read(&line));
        note(&line);
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
    fn a_step_beside_others_is_waited_for() {
        let log = |name: &str| std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let start = |name: &'static str, script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            Beside::start(name, shell, log(name)).unwrap()
        };
        let mut tally = Tally::default();
        let (fine, broken) = (start("fine", "echo yes"), start("broken", "exit 3"));
        tally.finish(fine).unwrap();
        assert_eq!(fs::read_to_string(log("fine")).unwrap(), "yes\n");
        let error = tally.finish(broken).unwrap_err();
        assert!(error.to_string().contains("broken"));
        assert!(tally.rows().contains("| all | 1 | 1 |"));
        tally
            .finish(start("counted", "echo '131 passed in 72.45s'"))
            .unwrap();
        assert!(tally.rows().contains("| all | 132 | 1 |"));
        for name in ["fine", "broken", "counted"] {
            fs::remove_file(log(name)).unwrap();
        }
    }

    #[test]
    fn a_step_that_fails_is_in_the_summary() {
        let mut tally = Tally::default();
        tally.step("fine", |_| Ok(())).unwrap();
        let broken = |_: &mut Count| -> Result<()> { bail!("no") };
        let error = tally.step("broken", broken).unwrap_err();
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
