//! Bots that reach each other over WebRTC.

use std::path::Path;

use super::{examples, rehearse_alone};

/// A copy of the example of twenty rounds, with a short one, and with this on the network.
fn short_pairs(copy: &Path, net: &str) {
    for file in std::fs::read_dir(examples().join("overcooked-pairs")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    let path = copy.join("study.yaml");
    let mut text = std::fs::read_to_string(&path).unwrap();
    let net = format!("net: {net}\n\ntimeline:");
    for (line, other) in [
        ("episodes: 20", "episodes: 1"),
        ("horizon: 300", "horizon: 200"),
        ("timeline:", net.as_str()),
    ] {
        assert!(text.contains(line), "{text}");
        text = text.replace(line, other);
    }
    std::fs::write(path, text).unwrap();
}

/// Rehearses two pairs over WebRTC, and counts the paths: direct, through TURN, through the server.
fn rehearse_by_webrtc(net: &str) -> [u64; 3] {
    let dir = tempfile::tempdir().unwrap();
    short_pairs(dir.path(), net);
    let args = [
        "--webrtc",
        "--sessions",
        "4",
        "--faults",
        "none",
        "--arrivals-per-min",
        "60",
    ];
    let (code, report, said) = rehearse_alone(dir.path(), &args);
    assert_eq!(code, Some(0), "{report:#} {said}");
    assert_eq!(report["mode"], "process");
    assert_eq!(report["outcomes"]["completed"], 4, "{report:#}");
    ["direct", "turn", "relay"].map(|way| report["links"][way].as_u64().unwrap())
}

#[test]
fn bots_play_with_each_other_over_data_channels() {
    // Two pairs, one round, two people in each.
    assert_eq!(rehearse_by_webrtc("{fallback: none}"), [4, 0, 0]);
}

#[test]
fn bots_that_may_not_learn_addresses_play_through_turn() {
    let links = rehearse_by_webrtc("{ice: relay, fallback: none}");
    assert_eq!(links, [0, 4, 0]);
}
