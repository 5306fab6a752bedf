//! The aftermath of an attack on the record: the fate of the honest partner, and what the data say of it.

use std::time::Duration;

use crate::item::Observed;
use crate::player::Player;
use crate::victim::Victim;
use crate::world::{Row, World, wait_until};

/// How long an honest partner may need to come to its last page once the attack is over.
const PATIENCE: Duration = Duration::from_secs(40);

/// A server that answers so late makes honest pages late, too: they may lose their seats for it.
const STALL: Duration = Duration::from_millis(500);

/// The machine stood still while honest people played, so that nothing follows from their fate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stalled(u128);

impl Stalled {
    /// After the longest wait for an answer.
    pub(crate) fn after(stall: Duration) -> Self {
        Self(stall.as_millis())
    }
}

impl std::fmt::Display for Stalled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the machine is too busy: the server answers after {} ms",
            self.0
        )
    }
}

impl std::error::Error for Stalled {}

/// The word of the attacker on its own inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnInputs {
    /// Only those that it has told the server may be in the record.
    AsTold,
    /// It has told several things.
    Any,
}

/// Lets the partner finish, and judges: it kept its seat and is paid, its inputs are in the record as it made them, it is
/// not named, nothing is in the record of the attacker that its page did not say, and the data verify.
pub(crate) async fn judge(
    world: &mut World,
    victim: Victim,
    player: Player,
    own: OwnInputs,
    seen: &str,
) -> anyhow::Result<Observed> {
    let partner = player.partner();
    let (said, told) = (player.testimony(partner), player.own_testimony());
    let (ended, durable, refused) = (player.ended, player.durable, player.refused);
    let stall = player.stall;
    drop(player);
    wait_until(PATIENCE, || victim.is_over()).await;
    let (outcome, pay, stuck) = (victim.outcome(), victim.pay(), victim.stuck());
    drop(victim);
    world.stop().await?;
    let (is_sound, found) = world.verify().await?;
    let (forged, ticks) = world.find_forged(&said).await?;
    let (invented, own_ticks) = match own {
        OwnInputs::AsTold => world.find_forged(&told).await?,
        OwnInputs::Any => (0, 0),
    };
    let events = world.table("events").await?;
    let seat = partner.to_string();
    let lost = count(&events, &seat, &["change"]);
    let named = count(&events, &seat, &NAMES);
    let liar = count(&events, &told.seat.to_string(), &NAMES);
    let mut faults = Vec::new();
    let mut blame = |is_fault: bool, fault: String| {
        if is_fault {
            faults.push(fault);
        }
    };
    blame(outcome.is_none(), format!("it came to no end: {stuck:?}"));
    let is_paid = pay.contains(|digit: char| matches!(digit, '1'..='9'));
    blame(outcome.is_some() && !is_paid, "it is not paid".to_owned());
    blame(lost > 0, format!("its seat changed hands {lost} times"));
    blame(named > 0, format!("it is named {named} times"));
    blame(
        forged > 0,
        format!("{forged} of its ticks have inputs that its page never said"),
    );
    blame(
        invented > 0,
        format!("{invented} of {own_ticks} ticks of the attacker have inputs that it never told"),
    );
    blame(!is_sound, format!("verify finds faults: {found}"));
    let faults = match faults.is_empty() {
        true => "unharmed".to_owned(),
        false => faults.join("; "),
    };
    let is_broken = faults != "unharmed";
    let may_be_late = forged == 0 && named == 0 && invented == 0 && is_sound;
    if is_broken && may_be_late && stall > STALL {
        return Err(Stalled::after(stall).into());
    }
    let faults = match is_broken {
        true => format!("{faults}; the server: {}", world.last_of_log()),
        false => faults,
    };
    let seen = format!(
        "{seen}; the episode {ended:?} (last known to be final: {durable}), refused: {refused:?}; the honest page ends as \
         {outcome:?} with {pay}, {ticks} of its ticks are in the record, {} were heard; the attacker is named {liar} times; the honest \
         page: {faults}",
        said.until.min(said.inputs.len() as u32)
    );
    Ok(Observed::broken_if(is_broken, seen))
}

/// The events by which a page is named.
const NAMES: [&str; 2] = ["diverged", "equivocation"];

/// The events of a seat, of these kinds, in the record itself.
fn count(events: &[Row], seat: &str, kinds: &[&str]) -> usize {
    let rows = events.iter().filter(|row| row["seat"] == seat);
    // Rows without a tick are what a page says of itself.
    let rows = rows.filter(|row| !row["tick"].is_empty());
    rows.filter(|row| kinds.contains(&row["kind"].as_str()))
        .count()
}
