//! `coplay dev` as somebody sees it who changes a study while it runs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Time in which a change is loaded, on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// Time between two questions about the state.
const EACH: Duration = Duration::from_millis(20);

struct Dev {
    process: Child,
    told: Value,
    /// The file of what it says on its standard error.
    said: std::path::PathBuf,
}

impl Dev {
    fn start(study: &Path, data: &Path, more: &[&str]) -> Self {
        let said = study.with_extension("said");
        let errors = std::fs::File::create(&said).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_coplay"))
            .args([
                "dev",
                study.to_str().unwrap(),
                "--data",
                data.to_str().unwrap(),
                "--port",
                "0",
                "--json",
            ])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let told = serde_json::from_str(&line).unwrap();
        Self {
            process,
            told,
            said,
        }
    }

    /// The answer of the server to a path: the head and the body.
    fn get(&self, path: &str) -> (String, String) {
        self.ask(path).unwrap()
    }

    fn ask(&self, path: &str) -> std::io::Result<(String, String)> {
        let address = self.told["url"].as_str().unwrap();
        let address = address.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address)?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        Ok((head.to_owned(), body.to_owned()))
    }

    /// The state that pages learn, once it is as wanted.
    fn news(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            // Between two versions of the study a connection may break.
            let (_, body) = self.ask("/dev/state").unwrap_or_default();
            match serde_json::from_str(&body) {
                Ok(news) if wanted(&news) => return news,
                news => {
                    let said = std::fs::read_to_string(&self.said).unwrap_or_default();
                    assert!(begin.elapsed() < SOON, "{news:?} {said}");
                }
            }
            // Each question takes a port of the machine for a minute, and a busy machine would run out of them.
            std::thread::sleep(EACH);
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn begun(dir: &Path) -> std::path::PathBuf {
    let study = dir.join("study");
    let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
        .args(["new", "survey", study.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    study
}

fn change(study: &Path, from: &str, to: &str) {
    let file = study.join("study.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(&file, text.replace(from, to)).unwrap();
}

#[test]
fn a_changed_study_is_loaded_anew_and_its_faults_are_shown_until_they_are_mended() {
    let dir = tempfile::tempdir().unwrap();
    let (study, data) = (begun(dir.path()), dir.path().join("data"));
    let dev = Dev::start(&study, &data, &[]);
    let first = dev.news(|_| true);
    assert_eq!((&first["loaded"], &first["anew"]), (&1.into(), &0.into()));

    change(&study, "isRequired: true", "isRequired: maybe");
    let news = dev.news(|news| news["faults"] != first["faults"]);
    let fault = &news["faults"][0];
    assert_eq!(
        (&news["loaded"], &fault["file"], &fault["line"]),
        (&1.into(), &"study.yaml".into(), &26.into())
    );
    assert!(
        fault["text"]
            .as_str()
            .unwrap()
            .contains("isRequired: maybe"),
        "{fault}"
    );

    change(&study, "isRequired: maybe", "isRequired: false");
    let news = dev.news(|news| news["loaded"] == 2);
    assert_eq!(
        (&news["faults"], &news["anew"]),
        (&first["faults"], &0.into()),
        "the way is the same"
    );

    change(
        &study,
        "  - {id: consent, type: consent, file: consent.md}\n",
        "",
    );
    let news = dev.news(|news| news["loaded"] == 3);
    assert_eq!(news["anew"], 1, "nobody can go on in another way");
    assert!(data.join("trial").is_file());
    let page = dev.get("/").1;
    assert!(
        page.contains("/dev/page.js") || page.contains("not built"),
        "{page}"
    );
    let tokens = |dev: &Dev| {
        let links = dev.told["links"].as_array().unwrap().iter();
        let token = |link: &Value| {
            link.as_str()
                .unwrap()
                .rsplit_once("?s=")
                .unwrap()
                .1
                .to_owned()
        };
        links.map(token).collect::<Vec<_>>()
    };
    let links = tokens(&dev);
    drop(dev);
    let again = Dev::start(&study, &data, &["--no-reload"]);
    assert_eq!(tokens(&again), links, "links stay as they were printed");
}

#[test]
fn the_link_to_the_dashboard_is_printed_and_nothing_follows_without_reload() {
    let dir = tempfile::tempdir().unwrap();
    let (study, data) = (begun(dir.path()), dir.path().join("data"));
    let dev = Dev::start(&study, &data, &["--no-reload"]);
    let link = dev.told["desk"].as_str().unwrap();
    let (page, key) = link.split_once("#key=").unwrap();
    assert!(page.ends_with("/desk") && key.len() == 32, "{link}");
    let (head, body) = dev.get("/desk");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.contains("content-security-policy"),
        "{head}"
    );
    assert!(body.contains("/desk/page.js"));
    let (head, body) = dev.get("/desk/api/overview");
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    assert!(body.contains("coplay desk link"), "{body}");
    assert!(
        dev.get("/dev/state").0.starts_with("HTTP/1.1 404"),
        "nothing follows the study"
    );
}

#[test]
fn data_of_trials_and_of_participants_are_kept_apart() {
    let dir = tempfile::tempdir().unwrap();
    let (study, data) = (begun(dir.path()), dir.path().join("data"));
    let run = |words: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_coplay"))
            .args(words)
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let [study_dir, data_dir] = [&study, &data].map(|path| path.to_str().unwrap());
    drop(Dev::start(&study, &data, &[]));
    let (code, said) = run(&[
        "serve",
        study_dir,
        "--data",
        data_dir,
        "--listen",
        "127.0.0.1:0",
    ]);
    assert_eq!(code, Some(1));
    assert!(said.contains("has data of `coplay dev`"), "{said}");
    std::fs::remove_file(data.join("trial")).unwrap();
    let (code, said) = run(&["dev", study_dir, "--data", data_dir, "--port", "0"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("holds data that `coplay dev` has not made"),
        "{said}"
    );
}
