//! The aftermath of an attack on the record: the fate of the honest partner, and what the data say of it.

use std::time::Duration;

use crate::conduct::Testimony;
use crate::item::Observed;
use crate::player::Player;
use crate::setting::Company;
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
    /// Only inputs that it has sent the server may be in the record.
    AsTold,
    /// It has told several things.
    Any,
}

/// Lets honest people finish, and judges: they kept their seats and are paid, their inputs are in the record as they made
/// them, they are not named, nothing is in the record of the attacker that its page did not say, and the data verify.
pub(crate) async fn judge(
    world: &mut World,
    company: impl Into<Company>,
    player: Player,
    own: OwnInputs,
    seen: &str,
) -> anyhow::Result<Observed> {
    let company: Company = company.into();
    let seats = company.honest_seats(&player);
    let said: Vec<Testimony> = (seats.iter()).map(|seat| player.testimony(*seat)).collect();
    let told = player.own_testimony();
    let (ended, durable, refused) = (player.ended, player.durable, player.refused);
    let stall = player.stall;
    drop(player);
    let is_over = || company.victims.iter().all(Victim::is_over);
    wait_until(PATIENCE, is_over).await;
    let ends: Vec<End> = company.victims.iter().map(End::of).collect();
    drop(company);
    world.stop().await?;
    let (is_sound, found) = world.verify().await?;
    let mut record = Record::default();
    for said in &said {
        record.add(said, world.find_forged(said).await?);
    }
    (record.invented, record.own_ticks) = match own {
        OwnInputs::AsTold => world.find_forged(&told).await?,
        OwnInputs::Any => (0, 0),
    };
    let events = world.table("events").await?;
    for seat in seats.iter().map(usize::to_string) {
        record.lost += count(&events, &seat, &["change"]);
        record.named += count(&events, &seat, &NAMES);
    }
    let liar = count(&events, &told.seat.to_string(), &NAMES);
    let mut faults = record.faults();
    faults.extend(ends.iter().flat_map(End::fault));
    if !is_sound {
        faults.push(format!("verify finds faults: {found}"));
    }
    let is_broken = !faults.is_empty();
    if is_broken && is_sound && record.may_be_late() && stall > STALL {
        return Err(Stalled::after(stall).into());
    }
    let faults = match is_broken {
        true => format!("{}; the server: {}", faults.join("; "), world.last_of_log()),
        false => "unharmed".to_owned(),
    };
    let seen = format!(
        "{seen}; the episode {ended:?} (last known to be final: {durable}), refused: {refused:?}; honest pages end as \
         {ends:?}, {} of their ticks are in the record, {} were heard; the attacker is named {liar} times; honest pages: \
         {faults}",
        record.ticks, record.heard
    );
    Ok(Observed::broken_if(is_broken, seen))
}

/// The end of an honest person's part.
#[derive(Debug)]
#[allow(dead_code, reason = "reports show it whole")]
struct End {
    outcome: Option<String>,
    pay: String,
    stuck: Option<String>,
}

impl End {
    fn of(victim: &Victim) -> Self {
        Self {
            outcome: victim.outcome(),
            pay: victim.pay(),
            stuck: victim.stuck(),
        }
    }

    fn fault(&self) -> Option<String> {
        let is_paid = self.pay.contains(|digit: char| matches!(digit, '1'..='9'));
        match self.outcome {
            None => Some(format!("one came to no end: {:?}", self.stuck)),
            Some(_) if !is_paid => Some("one is not paid".to_owned()),
            Some(_) => None,
        }
    }
}

/// The words of the record on honest people and of the attacker.
#[derive(Default)]
struct Record {
    /// Ticks of honest people, those that were heard, and those that their pages never said.
    ticks: usize,
    heard: usize,
    forged: usize,
    /// Ticks of the attacker, and those that it never told.
    own_ticks: usize,
    invented: usize,
    /// How often seats of honest people changed hands, and how often they are named.
    lost: usize,
    named: usize,
}

impl Record {
    fn add(&mut self, said: &Testimony, (forged, ticks): (usize, usize)) {
        self.forged += forged;
        self.ticks += ticks;
        self.heard += said.inputs.len().min(said.until as usize);
    }

    /// True if nothing but a seat was lost.
    fn may_be_late(&self) -> bool {
        self.forged == 0 && self.named == 0 && self.invented == 0
    }

    fn faults(&self) -> Vec<String> {
        let forged = format!(
            "{} ticks have inputs that their pages never said",
            self.forged
        );
        let invented = format!(
            "{} of {} ticks of the attacker have inputs that it never told",
            self.invented, self.own_ticks
        );
        let faults = [
            (
                self.lost,
                format!("seats changed hands {} times", self.lost),
            ),
            (self.named, format!("they are named {} times", self.named)),
            (self.forged, forged),
            (self.invented, invented),
        ];
        let faults = faults.into_iter().filter(|(count, _)| *count > 0);
        faults.map(|(_, fault)| fault).collect()
    }
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
