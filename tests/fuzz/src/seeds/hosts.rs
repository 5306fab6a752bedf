//! Answers of the process of a world, for [`crate::host`].

/// The size of the pieces in which the answers of a seed arrive.
const PIECE: u8 = 7;

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..], &[kind], body].concat()
}

/// A step of two seats: nobody at an end, a reward for the first, an event, an info.
fn step() -> Vec<u8> {
    let mut body = vec![0, 2, 3, 0, 0, 0, 0, 0];
    body.extend(1_i64.to_le_bytes());
    for reward in [1.0_f32, 0.0] {
        body.extend(reward.to_le_bytes());
        body.extend(1_i64.to_le_bytes());
        body.extend(7_u64.to_le_bytes());
        body.extend(42_u64.to_le_bytes());
    }
    body.extend([1, 0, 0, 0, 0, 1]);
    body.extend(2.0_f32.to_le_bytes());
    body.extend(br#"[[0,"lives",3]]"#);
    body
}

pub(super) fn answers() -> Vec<(String, Vec<u8>)> {
    let ready = br#"{"coplay_host":1,"spec":{"id":"a","version":"1","title":"A","seats":2,"actions":[
        {"name":"stay","momentary":false,"keys":[]},{"name":"go","momentary":true,"keys":["Space"]}],"noop":0,
        "observation":[{"name":"x","shape":[2,2],"range":[0.0,1.0]}],"tick_hz":10,"horizon":9,"events":["hit"],
        "seat_actions":[[0],[0,1]]},"agents":["a","b"],"packages":{"CPython":"3.12"},"notes":[]}"#;
    let shapes = br#"{"width":8.0,"height":5.0,"background":255,"items":[[1,0,0,1,1,"rect",0.1,255],
        [0,2,2,1,1,"ellipse",255],[0,2,2,1,1,"progress",0.5,255],[0,0,4,8,1,"text","go",255],[2,4,2,1,1,"sprite",0]]}"#;
    let pixels = [&[2, 0, 0, 0, 1, 0, 0, 0][..], &[9; 6]].concat();
    let answers = [
        ("ready", frame(0x81, ready)),
        ("stepped", frame(0x82, &step())),
        ("pixels", frame(0x83, &pixels)),
        ("shapes", frame(0x84, shapes)),
        ("values", frame(0x85, &[0; 16])),
        ("text", frame(0x86, b"a word")),
        ("action", frame(0x87, &[2, 0])),
        ("checked", frame(0x88, br#"{"ok":true,"why":"pure"}"#)),
        ("no_picture", frame(0x8E, &[])),
        (
            "fault",
            frame(0x8F, br#"{"kind":"threw","text":"KeyError"}"#),
        ),
    ];
    let all = answers.iter().flat_map(|(_, answer)| answer.clone());
    let episode: Vec<u8> = [PIECE].into_iter().chain(all).collect();
    let mut seeds: Vec<_> = answers
        .into_iter()
        .map(|(name, answer)| (name.to_owned(), [vec![PIECE], answer].concat()))
        .collect();
    seeds.push(("episode".to_owned(), episode));
    seeds
}
