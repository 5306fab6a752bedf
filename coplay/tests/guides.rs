//! The guides in `docs` are followed here: the tutorial as a newcomer follows it, and every command line and every part
//! of a study file of the other guides and of the pages about the study file.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use clap::Parser as _;
use coplay::cli::Cli;

const TUTORIAL: &str = include_str!("../../docs/tutorial.md");
const GUIDES: [(&str, &str); 11] = [
    ("prolific", include_str!("../../docs/prolific.md")),
    ("mturk", include_str!("../../docs/mturk.md")),
    ("deploy", include_str!("../../docs/deploy.md")),
    ("designs", include_str!("../../docs/designs.md")),
    ("desk", include_str!("../../docs/desk.md")),
    ("laboratory", include_str!("../../docs/laboratory.md")),
    (
        "launch-checklist",
        include_str!("../../docs/launch-checklist.md"),
    ),
    (
        "methods-section",
        include_str!("../../docs/methods-section.md"),
    ),
    ("moving", include_str!("../../docs/moving.md")),
    ("replay", include_str!("../../docs/replay.md")),
    (
        "troubleshooting",
        include_str!("../../docs/troubleshooting.md"),
    ),
];

/// The fenced blocks of a page in their order: the kind and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("```").skip(1).step_by(2);
    parts.filter_map(|block| block.split_once('\n')).collect()
}

/// The pages about the study file: name and text.
fn study_file_pages() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/study-file");
    let entries = std::fs::read_dir(folder).unwrap();
    let page = |path: std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    };
    let mut pages: Vec<_> = entries.map(|entry| page(entry.unwrap().path())).collect();
    pages.sort();
    assert!(pages.len() > 20, "{} pages", pages.len());
    pages
}

/// The blocks at the top of a study file: key and text.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if !line.starts_with([' ', '#']) {
            let (key, _) = line.split_once(':').unwrap();
            sections.push((key.to_owned(), String::new()));
        }
        let (_, section) = sections.last_mut().unwrap();
        *section += &format!("{line}\n");
    }
    sections
}

/// A study with some of its blocks replaced, and others added.
fn study_with(whole: &str, parts: &str) -> String {
    let mut all = sections(whole);
    for (key, text) in sections(parts) {
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some((_, own)) => *own = text,
            None => all.push((key, text)),
        }
    }
    all.into_iter().map(|(_, text)| text).collect()
}

/// Writes every page that a study names, in English and German.
fn write_pages(dir: &Path, study: &str) {
    for word in study.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))) {
        if let Some(stem) = word.strip_suffix(".md") {
            for name in [word.to_owned(), format!("{stem}.de.md")] {
                std::fs::write(dir.join(name), "# A page\n").unwrap();
            }
        }
    }
}

/// A server that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn coplay(dir: &Path, line: &str) -> Command {
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("coplay"), "{line}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_coplay"));
    command.args(words).current_dir(dir);
    command
}

/// Replaces the lines of a file that a diff takes away, with those around them, by the ones that it adds.
fn apply(file: &Path, diff: &str) {
    let side = |sign: char| -> String {
        let lines = diff.lines().filter(|line| line.starts_with([' ', sign]));
        lines.map(|line| format!("{}\n", &line[1..])).collect()
    };
    let (old, new) = (side('-'), side('+'));
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text.matches(&old).count(), 1, "the file has once:\n{old}");
    std::fs::write(file, text.replace(&old, &new)).unwrap();
}

#[test]
fn the_tutorial_goes_as_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut servers = Vec::new();
    let mut said = String::new();
    for (kind, text) in blocks(TUTORIAL) {
        // A diff of another file than the study file names it.
        let (kind, file) = kind.split_once(' ').unwrap_or((kind, "study.yaml"));
        match kind {
            "diff" => apply(&dir.path().join("my-study").join(file), text),
            "text" => assert!(said.contains(text.trim_end()), "{text}\nis not in\n{said}"),
            "sh" if text.starts_with("coplay dev") => {
                let mut server = coplay(dir.path(), text);
                let server = server
                    .args(["--port", "0", "--json"])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null());
                let mut server = server.spawn().unwrap();
                let mut line = String::new();
                BufReader::new(server.stdout.take().unwrap())
                    .read_line(&mut line)
                    .unwrap();
                assert!(line.contains("\"links\""), "{line}");
                servers.push(Running(server));
            }
            "sh" => {
                let done = coplay(dir.path(), text).output().unwrap();
                let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                said = words(&done.stdout) + &words(&done.stderr);
                let lints = text.starts_with("coplay lint");
                assert!(done.status.success() || lints, "{text}: {said}");
            }
            kind => panic!("nobody knows how to do a block of {kind}"),
        }
    }
    assert_eq!(servers.len(), 1);
    for page in ["consent", "how"] {
        let text = std::fs::read_to_string(dir.path().join(format!("my-study/{page}.md"))).unwrap();
        assert!(text.contains("30 seconds"), "the round is shorter: {text}");
        assert!(!text.contains("one minute"), "{text}");
    }
    for table in ["responses", "steps", "sessions"] {
        assert!(
            dir.path().join(format!("tables/{table}.csv")).is_file(),
            "{table}"
        );
    }
}

#[test]
fn every_command_of_the_guides_is_one() {
    let mut count = 0;
    let guides = GUIDES.iter().chain(&[("tutorial", TUTORIAL)]);
    let guides = guides.map(|(name, page)| ((*name).to_owned(), (*page).to_owned()));
    for (name, page) in guides.chain(study_file_pages()) {
        for (_, text) in blocks(&page).iter().filter(|(kind, _)| *kind == "sh") {
            for line in text.lines() {
                // The shell takes what follows.
                let line = line.split(" > ").next().unwrap();
                let parsed = Cli::try_parse_from(line.split_whitespace());
                assert!(parsed.is_ok(), "{name}: {line}\n{}", parsed.unwrap_err());
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count}");
}

/// The result of `coplay lint` for the study that a template becomes with a part of a study file, or with a whole one.
fn linted(text: &str) -> catalog::lint::Linted {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("study");
    let done = coplay(home.path(), "coplay new overcooked study")
        .output()
        .unwrap();
    assert!(done.status.success());
    let file = dir.join("study.yaml");
    let study = match text.starts_with("format: 1\n") {
        true => text.to_owned(),
        false => format!("{}\n{text}", std::fs::read_to_string(&file).unwrap()),
    };
    std::fs::write(&file, study).unwrap();
    catalog::lint::lint_study(&dir)
}

#[test]
fn every_part_of_a_study_file_in_the_guides_is_clean() {
    for (name, page) in GUIDES {
        let blocks = blocks(page);
        for (at, (_, text)) in (0..).zip(&blocks).filter(|(_, block)| block.0 == "yaml") {
            let linted = linted(text);
            assert!(
                linted.is_fine() && linted.warnings.is_empty(),
                "{name}: {linted}"
            );
            // The output that a page shows.
            if let Some(("text", told)) = blocks.get(at + 1) {
                let said = linted.to_string();
                assert!(
                    said.contains(told.trim_end()),
                    "{name}: {told} is not in {said}"
                );
            }
        }
    }
}

#[test]
fn what_participants_read_by_the_page_of_troubles_is_what_pages_say() {
    let words = include_str!("../../texts/en.yaml");
    let page = include_str!("../../docs/troubleshooting.md");
    let quotes = page.split('“').skip(1);
    let quotes: Vec<&str> = quotes.map(|rest| rest.split('”').next().unwrap()).collect();
    for sentence in &quotes {
        assert!(
            words.contains(&format!("\"{sentence}\"")),
            "no page says: {sentence}"
        );
    }
    assert!(quotes.len() > 15, "{}", quotes.len());
}

#[test]
fn the_citation_names_this_version() {
    let citation = include_str!("../../CITATION.cff");
    let version = env!("CARGO_PKG_VERSION");
    assert!(citation.contains(&format!("\nversion: {version}\n")));
    let page = include_str!("../../docs/methods-section.md");
    let named = page.matches("(version ").count();
    assert!(named > 0 && named == page.matches(&format!("(version {version}")).count());
}

#[test]
fn every_part_of_a_study_file_in_its_pages_is_clean() {
    let pages = study_file_pages();
    let (_, first) = pages
        .iter()
        .find(|(name, _)| name == "first-study")
        .unwrap();
    let (_, whole) = blocks(first)
        .into_iter()
        .find(|(kind, _)| *kind == "yaml")
        .unwrap();
    let mut count = 0;
    for (name, page) in &pages {
        let shown = blocks(page)
            .into_iter()
            .filter(|(kind, text)| *kind == "yaml" && !text.contains("titel:"));
        for (_, text) in shown {
            let home = tempfile::tempdir().unwrap();
            let study = study_with(whole, text);
            write_pages(home.path(), &study);
            std::fs::write(home.path().join("study.yaml"), study).unwrap();
            let linted = catalog::lint::lint_study(home.path());
            assert!(
                linted.is_fine() && linted.warnings.is_empty(),
                "{name}: {linted}\n{text}"
            );
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn every_example_is_clean() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut count = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let dir = entry.unwrap().path();
        if dir.join("study.yaml").is_file() {
            let linted = catalog::lint::lint_study(&dir);
            assert!(
                linted.is_fine() && linted.warnings.is_empty(),
                "{}: {linted}",
                dir.display()
            );
            count += 1;
        }
    }
    assert!(count >= 4, "{count} examples");
}

#[test]
fn every_test_that_the_pages_of_complaints_and_security_name_is_one() {
    let complaints = count_named_tests(include_str!("../../docs/complaints.md"));
    assert!(complaints >= 50, "{complaints} rows");
    let security = count_named_tests(include_str!("../../docs/security.md"));
    assert!(security >= 15, "{security} rows");
}

/// Counts the rows of a page that name a file and a test in it, which must be there.
fn count_named_tests(page: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let rows = page
        .lines()
        .filter(|line| line.contains("` | `") && line.ends_with("` |"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [_, file, name] = cells[..] else {
            panic!("three cells: {row}")
        };
        let (file, name) = (file.trim().trim_matches('`'), name.trim().trim_matches('`'));
        let text = std::fs::read_to_string(root.join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let is_there = match file.ends_with(".rs") {
            true => text.contains(&format!("fn {name}(")),
            // One for each browser or kind of browser has its name with that behind it.
            false => ["test('{}'", "test(`{}: ${", "matches('{}'"]
                .iter()
                .any(|call| text.contains(&call.replace("{}", name))),
        };
        assert!(is_there, "{file} has no test `{name}`");
        count += 1;
    }
    count
}

/// A row of a list of columns: their names, and the other table that they are a stretch of.
type Listed = (Vec<String>, Option<String>);

/// The columns of each table that a page lists, in order; `A` to `B` stands for a stretch of another table's.
fn listed_columns(page: &str) -> BTreeMap<String, Vec<String>> {
    let quoted = |text: &str| -> Vec<String> {
        let parts = text.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let mut direct: BTreeMap<String, Vec<Listed>> = BTreeMap::new();
    for section in page.split("\n## `").skip(1) {
        let (name, text) = section.split_once(".csv`").unwrap();
        let (_, table) = text
            .split_once("| Column | Meaning |\n| --- | --- |\n")
            .unwrap();
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let cells = rows.map(|row| {
            let (names, meaning) = row[1..].split_once('|').unwrap();
            let of = names.contains("` to `").then(|| {
                let known = quoted(meaning).into_iter().next().unwrap();
                known.trim_end_matches(".csv").to_owned()
            });
            (quoted(names), of)
        });
        direct.insert(name.to_owned(), cells.collect());
    }
    fn columns(all: &BTreeMap<String, Vec<Listed>>, name: &str) -> Vec<String> {
        let cells = all[name].iter().flat_map(|(names, of)| match of {
            None => names.clone(),
            Some(other) => {
                let other = columns(all, other);
                let at = |name: &String| other.iter().position(|known| known == name).unwrap();
                other[at(&names[0])..=at(&names[1])].to_vec()
            }
        });
        cells.collect()
    }
    let names = direct.keys().cloned();
    names
        .map(|name| (columns(&direct, &name), name))
        .map(|(all, name)| (name, all))
        .collect()
}

#[test]
fn the_page_of_the_data_lists_every_table_with_its_columns() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("data/episodes")).unwrap();
    let done = coplay(
        dir.path(),
        "coplay export --data data --out tables --seen --states --decisions --observations features,grid,pixels,atari",
    );
    assert!({ done }.output().unwrap().status.success());
    let mut written = BTreeMap::new();
    for entry in std::fs::read_dir(dir.path().join("tables")).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(dataset::export::DICTIONARY) {
            continue;
        }
        let header = std::fs::read_to_string(&path).unwrap();
        let names: Vec<String> = header.trim_end().split(',').map(str::to_owned).collect();
        let name = path.file_stem().unwrap().to_str().unwrap();
        written.insert(name.to_owned(), names);
    }
    let mut listed = listed_columns(include_str!("../../docs/data.md"));
    for names in listed.values_mut() {
        // Those are there if a study has factors.
        names.retain(|name| !name.ends_with("_NAME"));
    }
    assert_eq!(listed, written);
}
