//! The packages of a study: resolved once, locked with hashes, installed from the lock ever after.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::Path;
use std::process::Command;

use env_host::{HostSource, LOCK, find_interpreter, install_requirements};

/// Makes a wheel of a package with one module, `value`.
const MAKE_WHEEL: &str = "
import sys, zipfile
version, value = sys.argv[1:]
name = f'coplay_sample-{version}'
with zipfile.ZipFile(f'wheels/{name}-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('coplay_sample.py', f'value = {value}')
    wheel.writestr(f'{name}.dist-info/METADATA', f'Metadata-Version: 2.1\\nName: coplay-sample\\nVersion: {version}\\n')
    wheel.writestr(f'{name}.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(f'{name}.dist-info/RECORD', '')
";

fn make_wheel(python: &Path, folder: &Path, version: &str, value: &str) {
    fs::create_dir_all(folder.join("wheels")).unwrap();
    let mut make = Command::new(python);
    make.args(["-c", MAKE_WHEEL, version, value])
        .current_dir(folder);
    assert!(make.status().unwrap().success());
}

fn value_of(python: &Path) -> String {
    let mut ask = Command::new(python);
    ask.args(["-c", "import coplay_sample; print(coplay_sample.value)"]);
    String::from_utf8(ask.output().unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

#[test]
fn what_was_resolved_first_is_locked_and_nothing_else_is_installed() {
    let python = find_interpreter(None).unwrap();
    let (study, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let requirements = study.path().join("requirements.txt");
    fs::write(
        &requirements,
        "--no-index\n--find-links wheels\ncoplay-sample\n",
    )
    .unwrap();
    make_wheel(&python, study.path(), "1.0", "1");
    let mut told = Vec::new();
    let mut install = || {
        let mut progress = |sentence: &str| told.push(sentence.to_owned());
        install_requirements(data.path(), &requirements, &python, &mut progress)
    };
    let first = install().unwrap();
    assert_eq!(value_of(&first.interpreter), "1");
    assert!(
        first.lock.contains("coplay-sample==1.0 --hash=sha256:"),
        "{}",
        first.lock
    );

    // A newer version does not change what is locked; and the second time nothing is left to do.
    make_wheel(&python, study.path(), "2.0", "2");
    assert_eq!(install().unwrap(), first);

    // The same lock beside the requirements holds elsewhere, and refuses another file of the same version.
    let lock = study.path().join(LOCK);
    fs::write(&lock, &first.lock).unwrap();
    make_wheel(&python, study.path(), "1.0", "3");
    let error = install().unwrap_err().to_string();
    assert!(
        error.contains("installing the packages") && error.contains("HASH"),
        "{error}"
    );
    assert_eq!(
        told.iter()
            .filter(|sentence| sentence.starts_with("installing 1 "))
            .count(),
        2
    );
}

#[test]
fn the_source_of_a_world_names_the_versions_that_were_found_first() {
    let python = find_interpreter(None).unwrap();
    let (study, hosts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    make_wheel(&python, study.path(), "1.0", "1");
    let wheels = study.path().join("wheels");
    let requirements = format!(
        "--no-index\n--find-links {}\ncoplay-sample\n",
        wheels.display()
    );
    let unlocked = HostSource {
        world: serde_json::json!({ "python": "game.py:make" }),
        requirements: Some("requirements.txt".into()),
        files: [("requirements.txt".to_owned(), requirements)].into(),
    };
    let locked = || {
        let mut source = unlocked.clone();
        source.lock(hosts.path(), &mut |_| ()).unwrap();
        source
    };
    let first = locked();
    let lock = &first.files[LOCK];
    assert!(lock.contains("coplay-sample==1.0 --hash=sha256:"), "{lock}");
    // A newer version changes neither what was found, nor what a study ships.
    make_wheel(&python, study.path(), "2.0", "2");
    assert_eq!(locked(), first);
    let mut shipped = first.clone();
    shipped.files.insert(LOCK.into(), "# of the study\n".into());
    let before = shipped.clone();
    shipped.lock(hosts.path(), &mut |_| ()).unwrap();
    assert_eq!(shipped, before);
}
