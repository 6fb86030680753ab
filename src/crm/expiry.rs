//! When credentials end, as far as anybody can know: staff should hear of it before the CRM refuses them.

use secrecy::ExposeSecret as _;

use super::Crm;
use crate::{catalog::profile::model::Expires, clock::Timestamp};

/// What is known of one secret's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// The secret's name.
    pub secret: String,
    /// When it ends, where the secret itself says so.
    pub at: Option<Timestamp>,
    /// How many days it lives from its making, where the CRM limits that.
    pub days: Option<u64>,
}

impl Crm {
    /// The secrets that end, with what is known of when.
    #[must_use]
    pub fn expiries(&self) -> Vec<Expiry> {
        let one = |(name, secret): (&String, &crate::catalog::profile::model::Secret)| {
            let text = self.fitted.secrets.get(name)?.expose_secret();
            let (at, days) = match secret.expires {
                Expires::Never => return None,
                Expires::Jwt => (Some(jwt_end(text)?), None),
                Expires::After(life) => (None, Some(life.as_secs() / 86_400)),
            };
            Some(Expiry { secret: name.clone(), at, days })
        };
        self.profile.secrets.iter().filter_map(one).collect()
    }
}

/// The `exp` of a JSON web token. Its signature is the CRM's matter: we only read the calendar.
fn jwt_end(token: &str) -> Option<Timestamp> {
    let claims = token.split('.').nth(1)?;
    let json: serde_json::Value = serde_json::from_slice(&base64url(claims)?).ok()?;
    json.get("exp")?.as_i64()?.checked_mul(1_000).map(Timestamp)
}

/// Both alphabets of RFC 4648, padding or not.
pub(super) fn base64url(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0_u32, Vec::new());
    for letter in text.trim_end_matches('=').bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(six), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_web_token_says_when_it_ends_and_junk_says_nothing() {
        // {"alg":"none"} . {"sub":"1","exp":1800000000}
        let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIiwiZXhwIjoxODAwMDAwMDAwfQ.x";
        assert_eq!(jwt_end(token), Some(Timestamp(1_800_000_000_000)));
        for junk in ["", "a", "a.b", "a.!!!.c", "eyJhbGciOiJub25lIn0.e30.x", "яяя.яяя.яяя"] {
            assert_eq!(jwt_end(junk), None, "{junk}");
        }
    }
}
