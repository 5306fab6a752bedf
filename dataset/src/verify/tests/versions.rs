//! Episodes of built-in environments in a version that this program does not have.

use archive::fixtures::PageScript;

use super::*;

/// The module of `overcooked` that an earlier program stored.
fn stored_module() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data-folders/v1/overcooked-dyad/data/modules");
    let hash = "400b4d6f4";
    let mut files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let file = files.find(|file| file.to_string_lossy().contains(hash));
    fs::read(file.unwrap()).unwrap()
}

/// The same module as if it had been built when the environment had another version.
fn module_of_version(version: &str) -> Vec<u8> {
    let mut bytes = stored_module();
    let places: Vec<usize> = bytes
        .windows(5)
        .enumerate()
        .filter(|(_, five)| *five == b"2.0.0")
        .map(|(at, _)| at)
        .collect();
    let [at] = places[..] else {
        panic!("the version is in the module once: {places:?}")
    };
    bytes[at..at + 5].copy_from_slice(version.as_bytes());
    bytes
}

/// A data folder with an episode that was played in a module.
fn played_in(module: &[u8], version: &str) -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let mut header = header([PERSON, ai_controller("idle")], 12);
    header.module = sha256_hex(module);
    header.env_version = version.into();
    fs::create_dir(data.path().join("modules")).unwrap();
    let file = data
        .path()
        .join("modules")
        .join(format!("{}.wasm", header.module));
    fs::write(file, module).unwrap();
    // Its rules are those of today, under another number.
    let today = super::header([PERSON, ai_controller("idle")], 12);
    let all = play_episode(&today);
    let mut episode = Episode::create(&dir, header).unwrap();
    let upload = PageScript::resume(&mut episode, ZERO).upload_part(&all, 0, 12);
    episode.append_upload(ZERO, &upload).unwrap();
    episode.end(EndReason::Played).unwrap();
    data
}

#[tokio::test]
async fn an_environment_of_another_version_is_played_in_the_module_that_was_stored() {
    let data = played_in(&module_of_version("1.9.0"), "1.9.0");
    let report = verify_data(data.path()).await.unwrap();
    let [episode] = &report.episodes[..] else {
        panic!("{report}")
    };
    assert_eq!(episode.verdict, EpisodeVerdict::Equal, "{report}");
    assert_eq!((episode.ticks, episode.module), (12, StoredModule::Present));
}

#[tokio::test]
async fn a_version_whose_module_is_lost_is_named_and_not_verified() {
    let data = played_in(&module_of_version("1.9.0"), "1.9.0");
    fs::remove_dir_all(data.path().join("modules")).unwrap();
    let report = verify_data(data.path()).await.unwrap();
    let EpisodeVerdict::Unverified(because) = &report.episodes[0].verdict else {
        panic!("{report}")
    };
    assert!(
        because.starts_with(
            "recorded with overcooked 1.9.0; this program has 2.0.0; its stored module"
        ),
        "{because}"
    );
}

#[tokio::test]
async fn a_module_that_has_another_version_than_the_recording_says_is_refused() {
    let data = played_in(&module_of_version("1.9.0"), "1.9.0");
    let other = module_of_version("1.8.0");
    let hash = sha256_hex(&module_of_version("1.9.0"));
    fs::write(
        data.path().join("modules").join(format!("{hash}.wasm")),
        other,
    )
    .unwrap();
    let report = verify_data(data.path()).await.unwrap();
    let EpisodeVerdict::Unverified(because) = &report.episodes[0].verdict else {
        panic!("{report}")
    };
    assert!(
        because.contains("the stored file has another hash"),
        "{because}"
    );
}
