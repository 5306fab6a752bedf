//! How people come in: by Prolific, Mechanical Turk, mapped parameters, a label, or at the same computer one by one.

use dataset::pay::{self, PaymentFormat, PaymentOrder};
use protocol::control::{Entry, Onward, Refusal, ServerMessage};
use signaling_server::server::{AccessRules, ServerOptions};
use store::StudyStore;

use super::host::{Host, Running};
use super::page::Page;
use super::visits::{agree, end, host};

const STUDY: &str = "format: 1
study: {id: entry, version: 1.0.0, title: Entry, contact: lab@example.edu}
recruitment: {provider: PROVIDER, currency: GBP, base: 4.50, outcomes: {completed: {do: approve, pay: base + 0.5, code: CDONE}}}
timeline:
  - {id: consent, type: consent, file: how.md}
  - {id: thanks, type: end, file: thanks.md}
";

fn by(provider: &str) -> Host {
    host(&STUDY.replace("PROVIDER", provider))
}

pub(crate) fn sent(parameters: &[(&str, &str)]) -> Entry {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Entry::Sent(parameters.iter().map(pair).collect())
}

async fn refused(server: &Running, entry: Entry) -> Refusal {
    Page::connect(server, entry).await.refusal().await
}

async fn sessions(host: &Host) -> usize {
    let store = StudyStore::read(&host.data()).await.unwrap();
    store.sessions().await.unwrap().len()
}

/// An identifier of Prolific for a name.
pub(crate) fn pid(name: &str) -> String {
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits:0>24}")
}

/// As Prolific writes them.
const PID: &str = "5f0c8a1b2c3d4e5f60718293";

const ANNA: [(&str, &str); 3] = [
    ("PROLIFIC_PID", PID),
    ("STUDY_ID", "60a1b2c3d4e5f60718293a4b"),
    ("SESSION_ID", "70b1c2d3e4f5061728394a5c"),
];

#[tokio::test]
async fn who_comes_from_prolific_again_has_the_same_session_and_goes_back_with_the_code() {
    let host = by("prolific");
    let server = host.start().await;
    let mut page = Page::enter(&server, sent(&ANNA)).await;
    agree(&mut page).await;
    let (outcome, farewell) = end(&mut page).await;
    let url = "https://app.prolific.com/submissions/complete?cc=CDONE";
    assert!(matches!(&farewell.onward, Onward::To { url: to, .. } if to == url));
    server.stop().await;
    // Another device after a restart: the same person, whatever the submission.
    let server = host.start().await;
    let mut again = Page::enter(&server, sent(&[ANNA[0], ("SESSION_ID", &pid("se2"))])).await;
    assert_eq!(end(&mut again).await, (outcome, farewell));
    // One spelling of an identifier is as good as another.
    let shouted = PID.to_uppercase();
    let mut again = Page::enter(&server, sent(&[("PROLIFIC_PID", &format!(" {shouted}\n"))])).await;
    end(&mut again).await;
    let mut other = Page::enter(&server, Entry::Invite(server.links[0].clone())).await;
    agree(&mut other).await;
    end(&mut other).await;
    for incomplete in [
        sent(&ANNA[1..]),
        sent(&[("PROLIFIC_PID", " ")]),
        sent(&[("PROLIFIC_PID", "5f0bert")]),
        sent(&[("PROLIFIC_PID", "{{%PROLIFIC_PID%}}")]),
        sent(&[("PROLIFIC_PID", "=f0c8a1b2c3d4e5f60718293")]),
        Entry::Open,
    ] {
        assert_eq!(refused(&server, incomplete).await, Refusal::Incomplete);
    }
    let long = "x".repeat(501);
    let too_long = sent(&[("PROLIFIC_PID", long.as_str())]);
    assert_eq!(refused(&server, too_long).await, Refusal::Malformed);
    server.stop().await;
    assert_eq!(sessions(&host).await, 2);

    let order = PaymentOrder {
        format: PaymentFormat::Prolific,
        out: host.dir.path().join("bonus.csv"),
        mark: true,
    };
    let ledger = pay::pay(&host.data(), Some(&order)).await.unwrap();
    assert_eq!(ledger.marked, 1);
    let pence = |amounts: &std::collections::BTreeMap<String, u64>| amounts["GBP"];
    assert_eq!(
        (pence(&ledger.in_file), pence(&ledger.by_approval)),
        (50, 450)
    );
    let file = std::fs::read_to_string(&order.out).unwrap();
    let line = format!("{PID},0.50\n");
    assert_eq!(file, line, "Prolific pays the base by itself");
    let warning = ledger.warnings.join("\n");
    assert!(
        warning.contains("due payments of 1 whose link did not give"),
        "{warning}"
    );
}

#[tokio::test]
async fn an_identifier_is_in_its_own_table_alone() {
    let host = by("prolific");
    let server = host.start().await;
    let mut page = Page::enter(&server, sent(&ANNA)).await;
    agree(&mut page).await;
    end(&mut page).await;
    server.stop().await;
    let out = host.dir.path().join("out");
    dataset::export::export(
        &host.data(),
        &out,
        &dataset::export::ExportOptions::default(),
    )
    .await
    .unwrap();
    for file in std::fs::read_dir(&out).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(PID), "{}", path.display());
    }
    let store = StudyStore::read(&host.data()).await.unwrap();
    let known = store.list_identifiers().await.unwrap();
    assert_eq!(known[0].identity.participant, PID);
    assert_eq!(known[0].identity.parameters["SESSION_ID"], ANNA[2].1);
    assert!(!format!("{:?}", known[0].identity).contains(PID));
}

#[tokio::test]
async fn a_preview_of_mechanical_turk_takes_no_session_and_work_is_handed_in_by_its_form() {
    let host = by("mturk");
    let server = host.start().await;
    let preview = [
        ("assignmentId", "ASSIGNMENT_ID_NOT_AVAILABLE"),
        ("hitId", "h"),
    ];
    let mut page = Page::connect(&server, sent(&preview)).await;
    let title = page
        .until(|message| match message {
            ServerMessage::Preview { title } => Some(title),
            _ => None,
        })
        .await;
    assert_eq!(title, "Entry");
    assert_eq!(page.hear().await, None);
    assert_eq!(sessions(&host).await, 0);

    let worker = |host| {
        [
            ("assignmentId", "3X"),
            (
                "workerId",
                if host == "https://evil.example" {
                    "A2SUAM1HKFN2"
                } else {
                    "A2SUAM1HKFN1"
                },
            ),
            ("turkSubmitTo", host),
        ]
    };
    for (host, form) in [
        ("https://workersandbox.mturk.com/", true),
        ("https://evil.example", false),
    ] {
        let mut page = Page::enter(&server, sent(&worker(host))).await;
        agree(&mut page).await;
        let (_, farewell) = end(&mut page).await;
        match farewell.onward {
            Onward::Form { url, fields } if form => {
                assert_eq!(url, "https://workersandbox.mturk.com/mturk/externalSubmit");
                assert!(fields.contains(&("assignmentId".to_owned(), "3X".to_owned())));
                assert!(fields.contains(&("code".to_owned(), "CDONE".to_owned())));
            }
            Onward::Nowhere if !form => {}
            other => panic!("{other:?}"),
        }
    }
    for bad in [
        [("workerId", "=A1"), ("assignmentId", "3X")],
        [
            ("workerId", "A2SUAM1HKFN3"),
            ("assignmentId", "=cmd|' /C calc'!A0"),
        ],
    ] {
        assert_eq!(refused(&server, sent(&bad)).await, Refusal::Incomplete);
    }
    server.stop().await;
}

#[tokio::test]
async fn links_with_parameters_fit_the_pattern_and_are_signed() {
    let text = STUDY.replace(
        "PROVIDER",
        "parameters, parameters: {participant: id}, pattern: '[A-Z]{2}[0-9]{3}', signature: sig",
    );
    let host = host(&text);
    let enter = async |server: &Running, id: &str, signature: &str| {
        refused(server, sent(&[("id", id), ("sig", signature)])).await
    };
    // Source: `printf AB123 | openssl dgst -sha256 -hmac 'a secret of the panel'`
    let good = "cd2f5fd687294e7ba14c92a54ca27900cf849212595480062cf0c332df2bcf52";
    let server = host.start().await;
    assert_eq!(
        enter(&server, "AB123", good).await,
        Refusal::Incomplete,
        "no secret"
    );
    server.stop().await;
    let access = AccessRules {
        signature_key: Some(b"a secret of the panel".to_vec()),
        ..AccessRules::default()
    };
    let options = ServerOptions {
        access,
        ..host.options()
    };
    let server = host.start_with(options).await;
    for (id, signature) in [
        ("AB124", good),
        ("AB123", ""),
        ("AB123", "00"),
        ("xAB123", good),
        ("ab123", good),
    ] {
        assert_eq!(
            enter(&server, id, signature).await,
            Refusal::Incomplete,
            "{id}"
        );
    }
    let mut page = Page::enter(&server, sent(&[("id", "AB123"), ("sig", good)])).await;
    agree(&mut page).await;
    server.stop().await;
    assert_eq!(sessions(&host).await, 1);
}

#[tokio::test]
async fn parameters_are_mapped_and_a_kiosk_takes_one_person_after_the_other() {
    let text = STUDY.replace(
        "PROVIDER",
        "parameters, parameters: {participant: id, course: c}",
    );
    let sona = host(&text);
    let server = sona.start().await;
    let mut page = Page::enter(&server, sent(&[("id", "17"), ("c", "psy"), ("utm", "x")])).await;
    page.stage().await;
    Page::enter(&server, sent(&[("id", "17")])).await;
    assert_eq!(
        refused(&server, sent(&[("c", "psy")])).await,
        Refusal::Incomplete
    );
    server.stop().await;
    assert_eq!(sessions(&sona).await, 1);

    let kiosk = by("kiosk");
    let server = kiosk.start().await;
    for _ in 0..2 {
        let mut page = Page::enter(&server, Entry::Open).await;
        agree(&mut page).await;
        assert_eq!(end(&mut page).await.1.onward, Onward::Again);
    }
    server.stop().await;
    assert_eq!(sessions(&kiosk).await, 2);
}

#[tokio::test]
async fn a_label_brings_back_to_the_same_session_where_the_door_is_open() {
    let host = by("none");
    let label = || sent(&[("label", "room-3")]);
    let server = host.start().await;
    assert_eq!(refused(&server, label()).await, Refusal::UnknownLink);
    server.stop().await;
    let options = ServerOptions {
        open: true,
        ..host.options()
    };
    let server = host.start_with(options).await;
    Page::enter(&server, label()).await;
    Page::enter(&server, label()).await;
    server.stop().await;
    assert_eq!(sessions(&host).await, 1);
}
