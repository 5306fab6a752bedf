//! Identifiers that no recruiter gives are taken for people.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::Entry;
use crate::world::World;

pub(crate) const NAME: &str = "id-forms";
pub(crate) const TRIES: &str =
    "An identifier of a form that the recruiter never gives makes a session, or a second one for the same person.";

/// A well-formed identifier of Prolific, one of a worker, and one of another recruiter.
const PROLIFIC: &str = "5f3c9a0000000000000000aa";
const WORKER: &str = "A2SUAM7XYZABCD";
const OWN: &str = "ABC1234";

/// The secret under which a recruiter signs links, and another one.
const SECRETS: [&str; 2] = ["a secret of the recruiter", "a secret of the attacker"];

/// The recruiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recruiter {
    Prolific,
    Mturk,
    /// The study's own parameter, whose identifiers have a pattern.
    Pattern,
    /// The same, whose links are signed.
    Signature,
}

impl Recruiter {
    /// An identifier as it gives them.
    fn good(self) -> &'static str {
        match self {
            Self::Prolific => PROLIFIC,
            Self::Mturk => WORKER,
            Self::Pattern | Self::Signature => OWN,
        }
    }

    /// The block `recruitment`.
    fn recruitment(self) -> String {
        let provider = match self {
            Self::Prolific => "  provider: prolific\n",
            Self::Mturk => "  provider: mturk\n",
            Self::Pattern => {
                "  provider: parameters\n  parameters: {participant: pid}\n  pattern: \"[A-Z]{3}[0-9]{4}\"\n"
            }
            Self::Signature => "  provider: parameters\n  parameters: {participant: pid}\n  signature: sig\n",
        };
        format!("{provider}  currency: USD\n  base: 1.00\n")
    }

    /// The query of a link with an identifier, another parameter of the recruiter, and a signature.
    fn query(self, id: &str, other: &str, signature: &str) -> Vec<(String, String)> {
        let pairs = match self {
            Self::Prolific => vec![("PROLIFIC_PID", id), ("STUDY_ID", other), ("SESSION_ID", PROLIFIC)],
            Self::Mturk => vec![
                ("workerId", id),
                ("assignmentId", other),
                ("hitId", "3XJOUITW8URHJMX7F00H20LGRIAQTX"),
                ("turkSubmitTo", "https://www.mturk.com"),
            ],
            Self::Pattern => vec![("pid", id)],
            Self::Signature => vec![("pid", id), ("sig", signature)],
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        pairs.into_iter().map(owned).collect()
    }
}

/// The HMAC-SHA256 of an identifier, in hexadecimal digits.
fn sign(secret: &str, id: &str) -> anyhow::Result<String> {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())?;
    let tag = mac.chain_update(id).finalize().into_bytes();
    Ok(tag.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// An identifier of a form, which is not one of the recruiter's or not signed by it, and its signature.
fn forge(recruiter: Recruiter, form: &str) -> anyhow::Result<(String, String)> {
    let good = recruiter.good();
    let (start, end) = good.split_at(good.len() / 2);
    let id = match form {
        // Without the letter that every worker's identifier begins with, and with too few digits for others.
        "short" => good[1..4].to_owned(),
        "not hexadecimal" => "zz-not-an-identifier-zz!".to_owned(),
        "control character" => format!("{start}\u{7}\n{end}"),
        "formula" => "=HYPERLINK(\"http://x.example\")".to_owned(),
        "spaces around" => format!("  {good} "),
        "long" => good.repeat(20),
        "other parameter" => good.replace('2', "3").replace('f', "e"),
        _ => "ABC1235".to_owned(),
    };
    let signature = match form {
        "unsigned" => String::new(),
        "signed for another" => sign(SECRETS[0], good)?,
        "another secret" => sign(SECRETS[1], &id)?,
        _ => sign(SECRETS[0], &id)?.chars().take(32).collect(),
    };
    Ok((id, signature))
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let all = [Recruiter::Prolific, Recruiter::Mturk, Recruiter::Pattern, Recruiter::Signature];
    let recruiter = variant.choose("recruiter", &all);
    let signed = ["unsigned", "signed for another", "another secret", "half a signature"];
    let forms = ["short", "not hexadecimal", "control character", "formula", "spaces around", "long", "other parameter"];
    let form = match recruiter {
        Recruiter::Signature => variant.choose("form", &signed),
        Recruiter::Pattern => variant.choose("form", &forms[..6]),
        Recruiter::Prolific | Recruiter::Mturk => variant.choose("form", &forms),
    };
    let (id, signature) = forge(recruiter, form)?;
    let fine = match recruiter {
        Recruiter::Mturk => "3TS1AR6UQQDJ7PL48N7PCRZO6T47F6",
        _ => PROLIFIC,
    };
    let other = if form == "other parameter" { "=1+1" } else { fine };
    let mut study = Study::questions();
    study.recruitment = recruiter.recruitment();
    let secret = world.path("secret");
    std::fs::write(&secret, SECRETS[0])?;
    let secret = secret.to_string_lossy();
    let options: &[&str] = match recruiter {
        Recruiter::Signature => &["--signature-key", &secret],
        _ => &[],
    };
    world.serve(&study, options).await?;
    let good = recruiter.good();
    let honest = recruiter.query(good, fine, &sign(SECRETS[0], good)?);
    let known = Page::enter(&world.address(), Entry::Sent(honest)).await?;
    let mut page = Page::connect(&world.address()).await?;
    let refused = page.say_hello(Entry::Sent(recruiter.query(&id, other, &signature))).await?;
    drop((known, page));
    world.stop().await?;
    let sessions = world.table("sessions").await?.len();
    let seen = format!(
        "{id:?} is {}; with the one of {good:?} there are {sessions} sessions",
        refused.map_or("let in".to_owned(), |why| format!("refused: {why:?}"))
    );
    // With spaces around it, it is the same person.
    Ok(Observed::broken_if(sessions > 1, seen))
}
