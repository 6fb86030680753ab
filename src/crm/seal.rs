//! Tokens at rest: sealed under a key made of the configured secrets, so that a copy of the database alone opens
//! nothing at the CRM. AES-256-GCM; who has other secrets, or a changed text, reads nothing.

use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
};
use secrecy::ExposeSecret as _;

use super::scope::Secrets;
use crate::catalog::profile::template::base64;

/// What a sealed text begins with: the way it was sealed.
const MARK: &str = "sealed1:";

/// Seals and opens for one set of secrets.
pub(super) struct Seal {
    key: LessSafeKey,
    /// Makes each text's nonce out of the text: two texts never share one, and chance is not asked.
    nonces: hmac::Key,
}

impl Seal {
    /// `None` where the library refuses the key, which it does not for one of the right length.
    pub(super) fn of(secrets: &Secrets) -> Option<Self> {
        let root = hmac::Key::new(hmac::HMAC_SHA256, b"zayavka: tokens at rest");
        let mut all = hmac::Context::with_key(&root);
        for (name, secret) in secrets {
            let secret = secret.expose_secret();
            // With their lengths, so that no two sets of secrets read alike.
            for part in [name.as_str(), secret] {
                all.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
                all.update(part.as_bytes());
            }
        }
        let master = hmac::Key::new(hmac::HMAC_SHA256, all.sign().as_ref());
        let key = UnboundKey::new(&AES_256_GCM, hmac::sign(&master, b"key").as_ref()).ok()?;
        let nonces = hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&master, b"nonces").as_ref());
        Some(Self { key: LessSafeKey::new(key), nonces })
    }

    pub(super) fn close(&self, text: &str) -> Option<String> {
        let tag = hmac::sign(&self.nonces, text.as_bytes());
        let nonce: [u8; NONCE_LEN] = tag.as_ref().get(..NONCE_LEN)?.try_into().ok()?;
        let mut bytes = text.as_bytes().to_vec();
        self.key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut bytes).ok()?;
        Some(format!("{MARK}{}", base64(&[&nonce[..], &bytes].concat())))
    }

    pub(super) fn open(&self, sealed: &str) -> Option<String> {
        let mut bytes = super::expiry::base64url(sealed.strip_prefix(MARK)?)?;
        let nonce: [u8; NONCE_LEN] = bytes.get(..NONCE_LEN)?.try_into().ok()?;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let open = self.key.open_in_place(nonce, Aad::empty(), bytes.get_mut(NONCE_LEN..)?).ok()?;
        String::from_utf8(open.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn seal(secret: &str) -> Seal {
        Seal::of(&Secrets::from([("client_secret".to_owned(), SecretString::from(secret))])).expect("a key")
    }

    #[test]
    fn only_who_has_the_secrets_reads_it_and_nobody_changes_it() {
        let text = "{\"token\":\"access-one\",\"refresh\":\"refresh-two\"}";
        let sealed = seal("one").close(text).expect("it is sealed");
        assert!(sealed.starts_with(MARK) && !sealed.contains("access") && !sealed.contains("refresh"), "{sealed}");
        assert_eq!(seal("one").open(&sealed).as_deref(), Some(text));
        assert_eq!(seal("two").open(&sealed), None);
        assert_eq!(seal("one").open(text), None);
        for (at, letter) in sealed.char_indices().skip(MARK.len()).filter(|(_, letter)| *letter != '=') {
            let other = if letter == 'A' { "B" } else { "A" };
            let mut changed = sealed.clone();
            changed.replace_range(at..=at, other);
            // The last letter of base64 may carry bits that stand for nothing.
            assert!(
                seal("one")
                    .open(&changed)
                    .is_none_or(|open| open == text && at + 2 >= sealed.trim_end_matches('=').len())
            );
        }
        assert_ne!(seal("one").close("a"), seal("one").close("b"));
    }
}
