//! `coplay import`: the results of files of a study without a server, and of files that do not fit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use offline::bundle::RunnableStudy;
use offline::journal::{ConnNews, JournalEntry, JournalStart, seal};
use offline::{ConnEffect, OfflineServer};
use protocol::control::{self, Answer, ClientMessage, Entry, ServerMessage, StageView};
use serde_json::{Value, json};

/// 14 November 2023, 22:13:20, microseconds since the Unix epoch.
const BEGUN_US: u64 = 1_700_000_000_000_000;

const STUDY: &str = "\
format: 1
study: {id: alone, version: 1.0.0, title: Alone, contact: lab@example.edu}
recruitment: {provider: parameters, parameters: {participant: pid}}
timeline:
  - {id: consent, type: consent, file: consent.md}
  - {id: about, type: survey, surveyjs: {elements: [{type: text, name: age, title: How old are you?}]}}
  - {id: thanks, type: end, file: thanks.md}
";

/// A folder with a study, files of journals, and the data folder into which they are imported.
struct Lab {
    dir: tempfile::TempDir,
    runnable: RunnableStudy,
}

/// The words of the command.
struct Imported {
    code: Option<i32>,
    report: Value,
    errors: String,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("study");
        fs::create_dir(&folder).unwrap();
        let mazes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/mazes");
        for page in ["consent.md", "thanks.md"] {
            fs::copy(mazes.join(page), folder.join(page)).unwrap();
        }
        fs::write(folder.join("study.yaml"), STUDY).unwrap();
        let (study, _) = catalog::read_study(&folder).unwrap();
        let stages = Default::default();
        Self {
            dir,
            runnable: RunnableStudy { study, stages },
        }
    }

    /// The journal of somebody who comes by a link with this identifier and agrees.
    fn agree(&self, secret: u8, identifier: &str) -> Taker {
        let start = JournalStart {
            program: "test".to_owned(),
            study: "alone".to_owned(),
            study_version: "1.0.0".to_owned(),
            study_hash: self.runnable.study.hash.clone(),
            secret: [secret; 32],
            begun_us: BEGUN_US + u64::from(secret),
        };
        let mut taker = Taker {
            server: OfflineServer::new(self.runnable.clone(), &start, false),
            records: start.encode(),
            now_us: start.begun_us,
            token: String::new(),
            conn: 0,
        };
        let parameters = vec![("pid".to_owned(), identifier.to_owned())];
        taker.open(Entry::Sent(parameters));
        let (stage, value) = taker.consent();
        let answers = vec![("agreed".to_owned(), format!("\"{value}\""))];
        taker.finish_stage(stage, answers);
        taker
    }

    /// Writes a file of journals, and returns its name.
    fn write(&self, name: &str, journals: &[&[u8]]) -> PathBuf {
        let file = self.dir.path().join(name);
        fs::write(&file, seal(&journals.concat())).unwrap();
        file
    }

    fn import(&self, files: &[&Path]) -> Imported {
        let path = |name: &str| self.dir.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_coplay"));
        command.env("COPLAY_HOME", path("home"));
        command.arg("import").arg(path("study")).args(files);
        command.arg("--data").arg(path("data"));
        let done = command.args(["--any-version", "--json"]).output().unwrap();
        let errors = String::from_utf8(done.stderr).unwrap();
        Imported {
            code: done.status.code(),
            report: serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{errors}")),
            errors,
        }
    }
}

/// Somebody who takes part.
struct Taker {
    server: OfflineServer,
    records: Vec<u8>,
    now_us: u64,
    token: String,
    conn: u64,
}

impl Taker {
    fn happen(&mut self, news: ConnNews) {
        self.now_us += 1_000_000;
        let entry = JournalEntry {
            at_us: self.now_us,
            conn: self.conn,
            news,
        };
        self.records.extend(entry.encode());
        self.server.handle_entry(&entry);
    }

    fn say(&mut self, message: &ClientMessage) {
        self.happen(ConnNews::of_message(control::encode(message)));
    }

    fn open(&mut self, entry: Entry) {
        self.conn += 1;
        self.happen(ConnNews::Opened);
        self.say(&ClientMessage::make_hello(entry));
    }

    fn heard(&mut self) -> Vec<ServerMessage> {
        let all = std::iter::from_fn(|| self.server.poll_outgoing());
        let all = all.filter_map(|effect| match effect {
            ConnEffect::Send(_, message) => Some(message),
            ConnEffect::Close(_) => None,
        });
        all.collect()
    }

    /// The stage of the consent, and the hash of its text.
    fn consent(&mut self) -> (u16, String) {
        let mut found = None;
        for message in self.heard() {
            match message {
                ServerMessage::Welcome { session, .. } => self.token = session,
                ServerMessage::Stage {
                    index,
                    view: StageView::Consent { sha256, .. },
                    ..
                } => found = Some((index, sha256)),
                _ => {}
            }
        }
        found.expect("the consent is shown")
    }

    fn finish_stage(&mut self, stage: u16, answers: Vec<(String, String)>) {
        let answers = answers.into_iter();
        let answers = answers.map(|(name, value)| Answer { name, value });
        self.say(&ClientMessage::StageDone {
            stage,
            answers: answers.collect(),
            pages_ms: vec![900],
        });
    }

    /// Answers the form, which is the last stage but one.
    fn answer(&mut self) {
        let answers = vec![("age".to_owned(), "\"30\"".to_owned())];
        self.finish_stage(1, answers);
        let at_end = |message: &ServerMessage| {
            matches!(
                message,
                ServerMessage::Stage {
                    view: StageView::End { .. },
                    ..
                }
            )
        };
        assert!(self.heard().iter().any(at_end));
    }

    /// Reloads the page, looks at it, and closes it.
    fn reload(&mut self) {
        self.say(&ClientMessage::Unloading);
        self.happen(ConnNews::Closed);
        let token = self.token.clone();
        self.open(Entry::Resume {
            token,
            playing: None,
        });
        self.say(&ClientMessage::Clock { sent_us: 1 });
        self.happen(ConnNews::Closed);
    }
}

#[test]
fn journals_of_another_site_are_left_out_and_a_bad_file_stops_no_other() {
    let lab = Lab::new();
    let [mut ada, ben] = [lab.agree(1, "ada"), lab.agree(2, "ben")];
    ada.answer();
    let old = JournalStart {
        program: "test".to_owned(),
        study: "alone".to_owned(),
        study_version: "0.9.0".to_owned(),
        study_hash: "ab".repeat(32),
        secret: [9; 32],
        begun_us: BEGUN_US,
    };
    let old = old.encode();
    let whole = lab.write("whole.coplay-journal", &[&old, &ada.records]);
    let foreign = lab.write("foreign.coplay-journal", &[&old]);
    let bad = lab.dir.path().join("bad.coplay-journal");
    fs::write(&bad, "COPLAYJ\x01 and no more").unwrap();
    let gone = lab.dir.path().join("gone.coplay-journal");
    let last = lab.write("last.coplay-journal", &[&ben.records]);

    let done = lab.import(&[&bad, &foreign, &gone, &whole, &last]);
    assert_eq!(done.code, Some(1), "{}", done.errors);
    assert_eq!(done.report["participants"], 2);
    assert_eq!(done.report["other_versions"], 1);
    assert_eq!(done.report["files"], 5);
    let faults: Vec<(String, String)> = done.report["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["file"].to_string(), it["fault"].to_string()))
        .collect();
    for ((file, fault), (name, words)) in faults.iter().zip([
        ("bad", "damaged or not whole"),
        ("foreign", "name the study folder as it was"),
        ("gone", "cannot be read"),
    ]) {
        assert!(file.contains(name) && fault.contains(words), "{faults:?}");
        assert!(done.errors.contains(words), "{}", done.errors);
    }
    assert_eq!(faults.len(), 3);

    let again = lab.import(&[&whole]);
    assert_eq!(again.code, Some(0), "{}", again.errors);
    assert_eq!(again.report["already_there"], 1);
    assert_eq!(again.report["other_versions"], 1);
}

#[test]
fn the_first_of_two_people_with_one_identifier_has_it_and_both_are_imported() {
    let lab = Lab::new();
    let mut people = [
        lab.agree(1, "ada"),
        lab.agree(2, "ada"),
        lab.agree(3, "ben"),
    ];
    // The longer journal is not the one that began first.
    people[1].answer();
    let [first, second, third] = &people;
    let one = lab.write("one.coplay-journal", &[&second.records, &first.records]);
    let two = lab.write("two.coplay-journal", &[&third.records]);
    let done = lab.import(&[&one, &two]);
    assert_eq!(done.code, Some(0), "{}", done.errors);
    assert_eq!(done.report["participants"], 3);
    let warnings = done.report["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = warnings[0].as_str().unwrap();
    assert!(warning.contains("one.coplay-journal"), "{warning}");
    assert!(done.errors.contains(warning), "{}", done.errors);

    // A later import knows it, too.
    let fourth = lab.agree(4, "ada");
    let late = lab.write("late.coplay-journal", &[&fourth.records]);
    let done = lab.import(&[&late]);
    assert_eq!(done.report["participants"], 1, "{}", done.errors);
    assert_eq!(done.report["warnings"].as_array().unwrap().len(), 1);
    let done = lab.import(&[&one, &two, &late]);
    assert_eq!(done.report["already_there"], 4, "{}", done.errors);
    assert_eq!(done.report["warnings"], json!([]));
}

#[test]
fn a_reload_after_an_import_is_nothing_new_and_an_answer_is() {
    let lab = Lab::new();
    let [mut ada, mut ben] = [lab.agree(1, "ada"), lab.agree(2, "ben")];
    ada.answer();
    let first = lab.write("first.coplay-journal", &[&ada.records, &ben.records]);
    assert_eq!(lab.import(&[&first]).report["participants"], 2);
    ada.reload();
    let reloaded = lab.write("reloaded.coplay-journal", &[&ada.records]);
    ben.answer();
    let further = lab.write("further.coplay-journal", &[&ben.records]);
    let done = lab.import(&[&further, &reloaded]);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.report["already_there"], 1, "{}", done.errors);
    let faults = done.report["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    let fault = faults[0]["fault"].as_str().unwrap();
    assert!(fault.contains("took part further"), "{fault}");
    assert!(done.errors.contains("further.coplay-journal"));
}
