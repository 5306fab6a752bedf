//! The world of one attack: a study, a server in its own process, honest people, and the researcher's commands.
//!
//! Everything lies in one temporary folder, and every process ends with the world.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clock::{Clock, Pace};
use rehearsal::HonestPage;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::conduct::Testimony;
use crate::page::{Caller, Page};
use crate::study::Study;
use crate::victim::{Browser, Victim};
use crate::wire::messages::Entry;

/// A server that has not said its address by then does not start.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// A command of the researcher that takes longer hangs.
const COMMAND_WITHIN: Duration = Duration::from_secs(120);

/// A server process.
struct Server {
    child: Child,
    pace: ChildStdin,
    /// Its first line.
    told: Value,
}

/// The world of one attack.
pub(crate) struct World {
    folder: TempDir,
    program: PathBuf,
    server: Option<Server>,
    /// The server's clock, and its pace.
    clock: Clock,
    pace: watch::Sender<Pace>,
    people: u64,
}

impl World {
    /// An empty world; the program is attacked in it.
    pub(crate) fn new(program: &Path) -> anyhow::Result<Self> {
        let (pace, clock) = Clock::paced(Pace::REAL);
        Ok(Self {
            folder: tempfile::Builder::new().prefix("hostile-").tempdir()?,
            program: program.to_owned(),
            server: None,
            clock,
            pace,
            people: 0,
        })
    }

    /// The folder of the study.
    pub(crate) fn study(&self) -> PathBuf {
        self.folder.path().join("study")
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A path in the world's own folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a study, and starts a server for it.
    pub(crate) async fn serve(&mut self, study: &Study, options: &[&str]) -> anyhow::Result<()> {
        study.write(&self.study())?;
        self.start(options).await
    }

    /// Starts a server for the study and data that are there.
    pub(crate) async fn start(&mut self, options: &[&str]) -> anyhow::Result<()> {
        self.start_by(Command::new(&self.program), options).await
    }

    /// Starts a trial of the study that is there, as a researcher does.
    pub(crate) async fn try_out(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("dev").arg(self.study()).args(["--port", "0"]);
        command.args(["--no-turn", "--no-reload"]);
        command.arg("--data").arg(self.data());
        self.start_process(command).await
    }

    /// Starts a server under a shell that first does something, such as `ulimit -f 10`.
    pub(crate) async fn start_after(
        &mut self,
        shell: &str,
        options: &[&str],
    ) -> anyhow::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")]);
        command.arg(&self.program);
        self.start_by(command, options).await
    }

    async fn start_by(&mut self, mut command: Command, options: &[&str]) -> anyhow::Result<()> {
        command.arg("serve").arg(self.study());
        command.env("COPLAY_KEY_FILE", self.path("identifiers.key"));
        command.arg("--data").arg(self.data());
        if !options.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        if !options.iter().any(|option| option.starts_with("--turn")) {
            command.arg("--no-turn");
        }
        command.args(options).arg("--paced");
        self.start_process(command).await
    }

    async fn start_process(&mut self, mut command: Command) -> anyhow::Result<()> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log())?;
        let mut child = command
            .arg("--json")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (mut pace, stdout) = pipes.context("the server has no pipes")?;
        let line = format!("{}\n", *self.pace.borrow());
        pace.write_all(line.as_bytes()).await?;
        let mut lines = BufReader::new(stdout).lines();
        let line = timeout(STARTS_WITHIN, lines.next_line()).await;
        let Ok(Ok(Some(line))) = line else {
            bail!("the server does not start: {}", self.last_of_log());
        };
        self.server = Some(Server {
            child,
            pace,
            told: serde_json::from_str(&line).context("the server's first line")?,
        });
        Ok(())
    }

    fn server(&mut self) -> anyhow::Result<&mut Server> {
        self.server.as_mut().context("no server runs")
    }

    /// The server's first line.
    pub(crate) fn told(&self) -> &Value {
        self.server
            .as_ref()
            .map_or(&Value::Null, |server| &server.told)
    }

    /// The address that the server listens on, such as `127.0.0.1:41234`.
    pub(crate) fn address(&self) -> String {
        let url = self.told()["url"].as_str().unwrap_or_default();
        let host = url.trim_start_matches("http://");
        host.trim_end_matches('/').to_owned()
    }

    /// The process of the server.
    pub(crate) fn process(&mut self) -> anyhow::Result<u32> {
        let id = self.server()?.child.id();
        id.context("the server has ended")
    }

    /// True if the server still answers.
    pub(crate) async fn is_up(&mut self) -> bool {
        let ended = self
            .server()
            .and_then(|server| Ok(server.child.try_wait()?));
        if !matches!(ended, Ok(None)) {
            return false;
        }
        let asks = async {
            let mut stream = Caller::default().dial(&self.address()).await?;
            let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(request).await?;
            let mut head = [0; 12];
            stream.read_exact(&mut head).await?;
            Ok::<_, anyhow::Error>(head.ends_with(b"200"))
        };
        matches!(timeout(Duration::from_secs(5), asks).await, Ok(Ok(true)))
    }

    /// Sets the server's clock, and that of honest people, ahead.
    pub(crate) async fn leap(&mut self, time: Duration) -> anyhow::Result<()> {
        let pace = *self.pace.borrow();
        let now_us = self.clock.machine_us();
        let pace = Pace {
            from_us: now_us,
            shows_us: pace.shown_us(now_us) + time.as_micros() as u64,
            ..pace
        };
        self.pace.send_replace(pace);
        let line = format!("{pace}\n");
        Ok(self.server()?.pace.write_all(line.as_bytes()).await?)
    }

    /// Sets the clock of a server that is not yet started; a negative time sets it back.
    pub(crate) fn set_clock(&mut self, from_now_s: i64) {
        let now_us = self.clock.machine_us();
        let pace = Pace {
            from_us: now_us,
            shows_us: now_us.saturating_add_signed(from_now_s * 1_000_000),
            ..Pace::REAL
        };
        let (set, clock) = Clock::paced(pace);
        (self.pace, self.clock) = (set, clock);
    }

    /// Stops the server, and waits until everything is stored.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        let server = self.server.take().context("no server runs")?;
        let Server {
            mut child, pace, ..
        } = server;
        // The end of its input is its sign to stop.
        drop(pace);
        let status = timeout(STARTS_WITHIN, child.wait()).await;
        let status = status.context("the server does not stop")??;
        ensure!(status.success(), "the server stopped with {status}");
        Ok(())
    }

    /// Kills the server, as a crash would.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        let mut server = self.server.take().context("no server runs")?;
        Ok(server.child.kill().await?)
    }

    fn log(&self) -> PathBuf {
        self.path("server.log")
    }

    /// The log of the server.
    pub(crate) fn logged(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// The end of the log of the server, in one line.
    pub(crate) fn last_of_log(&self) -> String {
        let text = self.logged();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(6)..].join(" | ")
    }

    /// The recruiter's identifier of the next person: 24 hexadecimal digits, as those of Prolific.
    pub(crate) fn next_id(&mut self) -> String {
        self.people += 1;
        format!("5f3c9a{:018x}", self.people)
    }

    /// The parameters by which a person comes from Prolific.
    pub(crate) fn query_of(id: &str) -> Vec<(String, String)> {
        let pairs = [
            ("PROLIFIC_PID", id),
            ("STUDY_ID", "60a1b2c3d4e5f60718293a4b"),
            ("SESSION_ID", "61a1b2c3d4e5f60718293a4b"),
        ];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        pairs.into_iter().map(owned).collect()
    }

    /// Returns a dishonest page that has entered as the next person, from its own address.
    pub(crate) async fn attacker(&mut self) -> anyhow::Result<Page> {
        let id = self.next_id();
        let caller = Caller::at(10_000 + self.people as u16);
        Page::enter_as(&self.address(), &caller, Entry::Sent(Self::query_of(&id))).await
    }

    /// The same, with a public key that is not its own.
    pub(crate) async fn attacker_with(&mut self, key: Option<[u8; 32]>) -> anyhow::Result<Page> {
        let id = self.next_id();
        let caller = Caller::at(10_000 + self.people as u16);
        let mut page = Page::connect_as(&self.address(), &caller).await?;
        page.said_key = key;
        match page.say_hello(Entry::Sent(Self::query_of(&id))).await? {
            None => Ok(page),
            Some(why) => bail!("the page is refused: {why:?}"),
        }
    }

    /// The options of a server for a kind of victim.
    pub(crate) fn options_for(&self, who: &str) -> Vec<&'static str> {
        match who {
            "bot" => Vec::new(),
            // The page as it is in the checkout.
            _ => vec!["--dist", concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist")],
        }
    }

    /// An honest participant who comes in as the next person: a bot, or a real browser.
    pub(crate) async fn victim(&mut self, who: &str) -> anyhow::Result<Victim> {
        if who == "bot" {
            return Ok(Victim::Bot(self.honest()?));
        }
        let id = self.next_id();
        let query = Self::query_of(&id);
        let query: Vec<String> =
            (query.iter().map(|(name, value)| format!("{name}={value}"))).collect();
        let link = format!("http://{}/?{}", self.address(), query.join("&"));
        Ok(Victim::Browser(Browser::open(&link).await?))
    }

    /// An honest participant who comes in as the next person.
    pub(crate) fn honest(&mut self) -> anyhow::Result<HonestPage> {
        let id = self.next_id();
        self.honest_by(&Self::query_of(&id))
    }

    /// An honest participant who comes in by the query of an address.
    pub(crate) fn honest_by(&mut self, query: &[(String, String)]) -> anyhow::Result<HonestPage> {
        self.people += 1;
        let seed = self.people;
        HonestPage::enter(
            &self.address(),
            &self.study(),
            &self.clock,
            query,
            seed,
            false,
        )
    }

    /// Lets two honest people take part from the beginning to the end.
    pub(crate) async fn play_honestly(&mut self) -> anyhow::Result<()> {
        let people = [self.honest()?, self.honest()?];
        let are_over = || people.iter().all(HonestPage::is_over);
        wait_until(Duration::from_secs(120), are_over).await;
        for person in &people {
            let outcome = person.outcome();
            ensure!(
                outcome.as_deref() == Some("completed"),
                "an honest page ends as {outcome:?} without any attack: {:?}",
                person.stuck_stage()
            );
        }
        Ok(())
    }

    /// The log of the only episode.
    pub(crate) fn log_of_episode(&self) -> anyhow::Result<PathBuf> {
        let mut files = std::fs::read_dir(self.data().join("episodes"))?;
        let file = files.next().context("there is no episode")??;
        Ok(file.path())
    }

    /// Runs a command of the researcher to its end.
    pub(crate) async fn coplay(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        let mut command = Command::new(&self.program);
        command.args(&arguments).kill_on_drop(true);
        command.env("COPLAY_KEY_FILE", self.path("identifiers.key"));
        command.stdin(Stdio::null());
        let done = timeout(COMMAND_WITHIN, command.output()).await;
        done.with_context(|| format!("{arguments:?} hangs"))?
            .with_context(|| format!("{arguments:?}"))
    }

    /// Verifies the data: whether that finds nothing, and what it says.
    pub(crate) async fn verify(&self) -> anyhow::Result<(bool, String)> {
        self.verify_by(&[]).await
    }

    /// The same with further options.
    pub(crate) async fn verify_by(&self, options: &[&str]) -> anyhow::Result<(bool, String)> {
        let data = self.data();
        let data = data.to_string_lossy();
        self.tell(&[&["verify", "--data", &data], options].concat())
            .await
    }

    /// Exports the data: whether nothing is left out, and what it says.
    pub(crate) async fn export(&self) -> anyhow::Result<(bool, String)> {
        let (data, out) = (self.data(), self.path("exported"));
        let (data, out) = (data.to_string_lossy(), out.to_string_lossy());
        self.tell(&["export", "--data", &data, "--out", &out]).await
    }

    /// Runs a command of the researcher: whether it finds nothing wrong, and what it says, in one line.
    pub(crate) async fn tell(&self, arguments: &[&str]) -> anyhow::Result<(bool, String)> {
        let output = self.coplay(arguments).await?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).trim().replace('\n', " | ");
        Ok((output.status.success(), said))
    }

    /// The payment of the session that Prolific calls so: its outcome, and the whole amount in the smallest unit of the
    /// currency.
    pub(crate) async fn payment(&self, id: &str) -> anyhow::Result<(String, u64)> {
        let data = self.data();
        let data = data.to_string_lossy();
        let output = self.coplay(&["who", id, "--data", &data, "--json"]).await?;
        let found: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let person = &found["people"][0];
        let outcome = person["outcome"].as_str();
        let total = person["payment"]["total"].as_u64();
        let (outcome, total) = outcome
            .zip(total)
            .context("there is no payment for the session")?;
        Ok((outcome.to_owned(), total))
    }

    /// Reads or changes the database, as somebody does who has the data folder; `?` stands for one text.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        text: &str,
    ) -> anyhow::Result<Vec<sqlx::sqlite::SqliteRow>> {
        use sqlx::ConnectOptions as _;
        let options = sqlx::sqlite::SqliteConnectOptions::new()
            .filename(self.data().join("coplay.sqlite"))
            .busy_timeout(Duration::from_secs(10));
        let mut connection = options.connect().await?;
        let query = sqlx::query(sql);
        let query = match sql.contains('?') {
            true => query.bind(text),
            false => query,
        };
        Ok(query.fetch_all(&mut connection).await?)
    }

    /// Exports the data; gives the rows of a table by column.
    pub(crate) async fn table(&self, name: &str) -> anyhow::Result<Vec<Row>> {
        let (data, out) = (self.data(), self.path("tables"));
        let (data, folder) = (data.to_string_lossy(), out.to_string_lossy());
        let arguments = ["export", "--data", &data, "--out", &folder];
        let output = self.coplay(&arguments).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        let path = out.join(format!("{name}.csv"));
        let mut reader = csv::Reader::from_path(&path)
            .with_context(|| format!("the export has no {name}.csv: {said}"))?;
        let rows = reader.deserialize().collect::<Result<Vec<Row>, _>>()?;
        Ok(rows)
    }

    /// Looks for archived ticks of a person whose input the person's page never said. Gives their number, and that of
    /// all ticks that the person is recorded to have played.
    pub(crate) async fn find_forged(&self, said: &Testimony) -> anyhow::Result<(usize, usize)> {
        let steps = self.table("steps").await?;
        let seat = said.seat.to_string();
        let of_person = |row: &&Row| row["seat"] == seat && row["controller"] == "human";
        let played: Vec<&Row> = steps.iter().filter(of_person).collect();
        let is_forged = |row: &&&Row| {
            let tick = row["tick"].parse::<u32>().unwrap_or(u32::MAX);
            let input = said.inputs.get(tick as usize);
            tick < said.until && input.is_none_or(|input| input.to_string() != row["action"])
        };
        Ok((played.iter().filter(is_forged).count(), played.len()))
    }
}

/// A row of a table, by column.
pub(crate) type Row = std::collections::BTreeMap<String, String>;

/// Waits until something about honest people is so; false if it is not in time.
pub(crate) async fn wait_until(patience: Duration, is_so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        sleep(Duration::from_millis(20)).await;
    }
    is_so()
}

/// A port that nobody listens on, for a server that comes back to the same address.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}
