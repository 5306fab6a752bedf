//! Credentials that contain their own expiry: nothing is stored for them, and nobody else can make them.
//!
//! Source: draft-uberti-behave-turn-rest-00, as coturn's `use-auth-secret` reads it: the user name is the time of
//! expiry, a colon and a name; the password is the Base64 form of the user name's HMAC-SHA1 under the secret.

use std::fmt;

use base16ct::lower::encode_string;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use turn_types::stun::attribute::MessageIntegrity;
use turn_types::stun::message::ShortTermCredentials;

use super::CREDENTIAL_S;

/// The secret that makes and checks credentials: 64 hexadecimal digits.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes 32 random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(encode_string(&random))
    }

    /// A user name and its password, good until `expires_s` (seconds since the Unix epoch).
    pub fn issue(&self, expires_s: u64, name: &str) -> (String, String) {
        let username = format!("{expires_s}:{name}");
        let password = BASE64_STANDARD.encode(self.sign_text(&username));
        (username, password)
    }

    /// The password of a user name; `None` if the name has not the form of an issued one, has expired, or is valid for
    /// longer than any issued one.
    pub fn password(&self, now_s: u64, username: &str) -> Option<String> {
        let (expires_s, name) = username.split_once(':')?;
        let expires_s: u64 = expires_s.parse().ok()?;
        let is_good = expires_s > now_s && expires_s <= now_s + CREDENTIAL_S;
        let (issued, password) = self.issue(expires_s, name);
        (is_good && issued == username).then_some(password)
    }

    /// A name for an episode that does not reveal which one it is.
    pub fn group(&self, episode: &str) -> String {
        encode_string(&self.sign_text(&format!("match {episode}"))[..8])
    }

    /// HMAC-SHA1 under the secret.
    pub fn sign_text(&self, text: &str) -> [u8; 20] {
        let key = ShortTermCredentials::new(self.0.clone()).make_key();
        MessageIntegrity::compute(&[text.as_bytes()], &key).expect("the hash takes any length")
    }
}

/// The match and the seat of a user name, whenever it expires.
pub(super) fn holder_of(username: &str) -> &str {
    username.split_once(':').map_or("", |(_, name)| name)
}

/// The match of a user name.
pub(super) fn group(username: &str) -> &str {
    let name = holder_of(username);
    name.split_once('.').map_or(name, |(group, _)| group)
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}
