//! Decisions of models that play seats.

use archive::Replica;
use policy::network::{ActionChoice, KernelStep, Network};
use protocol::Life;
use protocol::change::Change;
use protocol::rules::SharedSeats;

use super::super::decisions::list_models;
use super::*;

const TICKS: u32 = 40;
/// The values of the model's actions in every state: the logarithms of 4, 2, 1, 1 and so on.
const LIKELY: [f32; 2] = [4.0, 2.0];

/// A model that sees everything, and always finds the first two actions more likely than the others.
fn model(choice: ActionChoice) -> Network {
    let spec = env_core::envs::open("overcooked", "")
        .unwrap()
        .spec()
        .clone();
    let (values, actions) = (spec.observation_len(), spec.actions.len());
    let mut weights = vec![0.0; values * actions + actions];
    for (action, likely) in LIKELY.into_iter().enumerate() {
        weights[values * actions + action] = likely.ln();
    }
    Network {
        fields: Vec::new(),
        registers: vec![values as u32, actions as u32],
        steps: vec![KernelStep::Dense {
            from: 0,
            to: 1,
            rows: 1,
            weights: 0,
            bias: (values * actions) as u32,
        }],
        memory: Vec::new(),
        mask: None,
        logits: 1,
        choice,
        weights,
    }
}

/// Keeps a model in a data folder, and gives its name.
fn keep(data: &Path, network: &Network) -> String {
    let bytes = network.encode().unwrap();
    let sha256 = protocol::hash::sha256_hex(&bytes);
    let networks = data.join("networks");
    fs::create_dir_all(&networks).unwrap();
    fs::write(networks.join(format!("{sha256}.network")), &bytes).unwrap();
    policy::policy_name("steady.onnx", &sha256)
}

/// Exports the table of decisions of a data folder.
async fn export_decisions(data: &Path) -> Cells {
    let options = ExportOptions {
        decisions: true,
        ..ExportOptions::default()
    };
    let report = export(data, &data.join("out"), &options).await.unwrap();
    assert_eq!(report.skipped, []);
    Cells::read(path(&report, "decisions"))
}

#[tokio::test]
async fn a_model_is_asked_again_for_the_probabilities_of_its_decisions() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir_all(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let network = model(ActionChoice {
        every: 2,
        temperature: Some(1.0),
        is_masked: false,
    });
    let name = keep(data.path(), &network);
    let mut header = header([PERSON, ai_controller(&name)], TICKS);
    header.participants[1].clear();
    let mut replica = Replica::open(&header, archive::open_stored(&dir)).unwrap();
    let mut rows = Vec::new();
    while !replica.outcome().over {
        let row = [0, replica.chosen_action(Seat(1)).unwrap()];
        replica.step(&row).unwrap();
        rows.extend(row);
    }
    let actions = Record::Actions {
        first: Tick(0),
        rows,
    };
    let records = [
        sign_rows(&header, std::slice::from_ref(&actions)),
        vec![actions],
    ];
    fs::write(dir.join("e-1.coplay"), encode(&header, &records.concat())).unwrap();
    let table = export_decisions(data.path()).await;
    let own = "tick policy probabilities";
    assert_eq!(table.names.join(" "), format!("{KEYS} {own}"));
    assert_eq!(
        table.rows.len() as u32,
        TICKS / 2,
        "it decides every second tick"
    );
    let ticks: Vec<String> = (0..TICKS).step_by(2).map(|tick| tick.to_string()).collect();
    assert_eq!(table.column("tick"), ticks);
    for row in 0..table.rows.len() {
        let cells = table.cells(row, "seat policy probabilities");
        assert_eq!(cells[..2], ["1", &name]);
        let shares: Vec<f32> = cells[2].split(' ').map(|it| it.parse().unwrap()).collect();
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!((shares[0] / shares[1] - 2.0).abs() < 1e-4, "{shares:?}");
        assert!((shares[0] / shares[2] - 4.0).abs() < 1e-4, "{shares:?}");
    }
    let out = data.path().join("plain");
    let plain = export(data.path(), &out, &ExportOptions::default()).await;
    assert_eq!(plain.unwrap().count_rows("decisions"), None);
}

#[tokio::test]
async fn a_model_that_takes_over_a_seat_is_asked_from_there_on() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir_all(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let network = model(ActionChoice {
        every: 2,
        ..ActionChoice::default()
    });
    let name = keep(data.path(), &network);
    let mut episode = archive::Episode::create(&dir, header([PERSON, PERSON], TICKS)).unwrap();
    let [mut one, mut two] = pages(episode.header());
    let all = play_episode(episode.header());
    episode
        .append_upload(ZERO, &one.upload_part(&all, 0, 11))
        .unwrap();
    let other = two.upload_part(&all, 0, 11);
    episode.append_upload(Seat(1), &other).unwrap();
    let change = episode.take_seat(Seat(1), ai_controller(&name)).unwrap();
    assert_eq!(change.tick, Tick(11));
    let inputs = one.upload_part(&all, 11, 20);
    episode.append_upload(ZERO, &inputs).unwrap();
    let table = export_decisions(data.path()).await;
    assert_eq!(table.column("tick"), ["11", "13", "15", "17", "19"]);
    assert_eq!(table.cells(0, "seat policy"), ["1", &name]);
}

#[test]
fn a_model_beside_a_person_is_asked_throughout_and_one_with_a_seat_while_it_has_it() {
    let name = policy::policy_name("steady.onnx", &"0".repeat(64));
    let mut header = header([PERSON, ai_controller(&name)], TICKS);
    header.shared = Some(SharedSeats {
        policies: vec!["cook".to_owned(), name.clone()],
        ..SharedSeats::default()
    });
    let change = |tick: u32, controller| Change {
        number: 0,
        seat: Seat(1),
        tick: Tick(tick),
        controller,
        life: Life(0),
        from: Tick(tick),
        inputs: Vec::new(),
        key: None,
    };
    let changes = [change(10, PERSON), change(20, ai_controller(&name))];
    let (model, end) = (name.as_str(), Tick(u32::MAX));
    assert_eq!(
        list_models(&header, &changes),
        [
            (Seat(1), model, Tick(0)..Tick(10), false),
            (Seat(1), model, Tick(20)..end, false),
            (Seat(0), model, Tick(0)..end, true),
        ]
    );
}
