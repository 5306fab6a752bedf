use super::*;
use crate::contract::{ParamError, Spec};
use crate::envs::overcooked::Overcooked;
use crate::grid::{Draws, Grid, GridWorld, Layout, Tables, WorldPlan};

fn host() -> Host<Overcooked> {
    Host::new()
}

fn send(host: &mut Host<Overcooked>, bytes: &[u8]) -> u32 {
    assert!(!host.inbox(bytes.len() as u32).is_null());
    host.inbox[..bytes.len()].copy_from_slice(bytes);
    bytes.len() as u32
}

#[test]
fn outcomes_survive_their_bytes() {
    let mut outcome = StepOutcome {
        terminated: 1,
        truncated: 2,
        over: true,
        ..StepOutcome::default()
    };
    outcome.rewards[1] = -2.5;
    for to in [None, Some(0), Some(1)] {
        outcome.events.push(StepEvent {
            kind: 3,
            seat: 1,
            to,
            value: 7.25,
        });
    }
    let (mut bytes, mut read) = (Vec::new(), StepOutcome::default());
    encode_outcome(&outcome, 2, 0, &mut bytes);
    assert_eq!(bytes.len(), 2 * 4 + 2 + 2 + 4 + 4 + 3 * 8);
    assert_eq!(decode_outcome(&bytes, 2, 0, &mut read), Some(()));
    assert_eq!(read, outcome);
    assert_eq!(
        decode_outcome(&bytes[..bytes.len() - 1], 2, 0, &mut read),
        None
    );
    bytes.push(0);
    assert_eq!(decode_outcome(&bytes, 2, 0, &mut read), None);
    assert_eq!(decode_outcome(&bytes, 17, 0, &mut read), None);
}

#[test]
fn components_survive_their_bytes() {
    let spec = Spec {
        seats: 2,
        components: alloc::vec!["soups".into(), "onions".into()],
        ..Spec::default()
    };
    let mut outcome = StepOutcome::default();
    outcome.earn(&spec, 1, 0, 20.0);
    outcome.earn(&spec, 1, 1, 0.5);
    assert_eq!(outcome.rewards[..2], [0.0, 20.5]);
    let (mut bytes, mut read) = (Vec::new(), StepOutcome::default());
    encode_outcome(&outcome, 2, 2, &mut bytes);
    assert_eq!(decode_outcome(&bytes, 2, 2, &mut read), Some(()));
    assert_eq!(read.components, [0.0, 0.0, 20.0, 0.5]);
    assert_eq!(decode_outcome(&bytes, 2, 1, &mut read), None);
    bytes.clear();
    encode_outcome(&StepOutcome::default(), 2, 2, &mut bytes);
    assert_eq!(decode_outcome(&bytes, 2, 2, &mut read), Some(()));
    assert_eq!(read.components, [0.0; 4]);
}

#[test]
fn numbers_out_of_range_do_no_harm() {
    let mut host = host();
    let before = host.digest();
    assert!(host.inbox(INBOX_LIMIT + 1).is_null());
    host.save(SLOTS);
    host.save(u32::MAX);
    host.load(u32::MAX);
    host.load(5);
    assert_eq!(host.observe(2), 0);
    assert_eq!(host.mask(2), 0);
    assert_eq!((host.seat_score(2), host.draw_for(2)), (0, 0));
    assert_eq!((host.point(2), host.point(0)), (-1, -1));
    assert_eq!(host.describe(u32::MAX), 0);
    assert_eq!(host.restore(u32::MAX), -1);
    host.inject(u32::MAX);
    assert_eq!(host.digest(), before);
    assert_eq!(host.step(u32::MAX), 0);
    let spec = host.instance.as_ref().unwrap().spec();
    let parts = MAX_SEATS * 4 * spec.components.len();
    assert_eq!(host.outbox().len(), MAX_SEATS * 4 + 12 + parts);
    assert_eq!(host.open(u32::MAX), 0);
}

#[test]
fn a_refused_parameter_is_named_and_nothing_changes() {
    let mut host = host();
    let len = send(&mut host, br#"{"layout":"counter_circuit"}"#);
    assert_eq!(host.open(len), 0);
    let before = host.digest();
    let len = send(&mut host, br#"{"horizon":9,"orders":{"max_activ":1}}"#);
    let refused = host.open(len);
    let reason = core::str::from_utf8(host.outbox()).unwrap();
    assert_eq!(refused, -(reason.len() as i32));
    assert!(
        reason.starts_with("orders.max_activ: there is no parameter `max_activ`"),
        "{reason}"
    );
    assert_eq!(host.digest(), before);
}

#[test]
fn state_bytes_carry_an_episode_over() {
    let (mut one, mut two) = (host(), host());
    one.reset(-7);
    let len = send(&mut one, &[3, 0, 4, 0]);
    for _ in 0..20 {
        assert_eq!(one.step(len / 2), 0);
    }
    let len = one.state();
    let bytes = one.outbox().to_vec();
    assert_eq!(len as usize, bytes.len());
    let len = send(&mut two, &bytes);
    assert_eq!(two.restore(len), 0);
    assert_eq!(one.digest(), two.digest());
    assert_eq!(two.restore(len - 1), -1);
}

/// An environment that refuses its defaults: they name a feature that it does not have.
#[derive(Debug)]
struct Faulty;

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Features {
    features: Vec<String>,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            features: alloc::vec!["agent_postion".into()],
        }
    }
}

impl GridWorld for Faulty {
    const ID: &'static str = "faulty";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Faulty";
    type Params = Features;
    type Extra = ();

    fn plan(params: &Features) -> Result<WorldPlan, ParamError> {
        Ok(WorldPlan {
            layout: Layout::fixed(&["   "]),
            features: params.features.clone(),
            ..WorldPlan::default()
        })
    }

    fn new(_: Features, _: &Tables) -> Result<Self, ParamError> {
        Ok(Self)
    }

    fn start(&self, _: &Tables, _: &mut Draws) {}
}

#[test]
fn refused_defaults_are_told_and_the_rest_does_no_harm() {
    let mut host = Host::<Grid<Faulty>>::new();
    for params in [&b""[..], b"{}"] {
        assert!(!host.inbox(2).is_null());
        host.inbox[..params.len()].copy_from_slice(params);
        let refused = host.open(params.len() as u32);
        let reason = core::str::from_utf8(host.outbox()).unwrap();
        assert_eq!(refused, -(reason.len() as i32));
        let sentence =
            "features[0]: there is no feature `agent_postion`; did you mean `agent_position`?";
        assert!(reason.starts_with(sentence), "{reason}");
    }

    host.reset(1);
    assert_eq!(host.step(2), 1);
    assert_eq!(host.outbox().len(), 2 * 4 + 12);
    host.save(0);
    host.load(0);
    host.inject(0);
    let lengths = [host.observe(0), host.describe(0), host.draw(), host.state()];
    assert_eq!((lengths, host.facts()), ([0; 4], 0));
    assert_eq!((host.mask(0), host.digest(), host.score()), (0, 0, 0));
    assert_eq!((host.acting(), host.seat_score(0)), (0, 0));
    assert_eq!((host.draw_for(0), host.point(0)), (0, -1));
    assert_eq!(host.restore(0), -1);

    let params = br#"{"features":["agent_position"]}"#;
    assert!(!host.inbox(params.len() as u32).is_null());
    host.inbox[..params.len()].copy_from_slice(params);
    assert_eq!(host.open(params.len() as u32), 0);
    assert!(host.facts() > 0 && host.observe(0) > 0);
    assert_eq!(host.step(2), 0);
}

#[test]
fn facts_are_json() {
    let mut host = host();
    let len = host.facts() as usize;
    let facts: serde_json::Value = serde_json::from_slice(&host.outbox()[..len]).unwrap();
    assert_eq!(facts["spec"]["id"], "overcooked");
    assert_eq!(
        facts["params_schema"]["properties"]["horizon"]["default"],
        1000
    );
    assert!(facts["sprites"].is_array());
}
