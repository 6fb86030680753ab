//! HMAC-SHA256 over a request (RFC 2104): for systems that want each request signed instead of shown a secret.

use sha2::{Digest as _, Sha256};

use super::{
    auth::Wire,
    scope::{Secrets, Vars},
};
use crate::catalog::profile::{
    model::Signing,
    template::{Scope, Unwritable, base64},
};
use secrecy::ExposeSecret as _;
use serde_json::json;

/// SHA-256 works on blocks of so many bytes.
const BLOCK: usize = 64;

/// The header's value for a request as it goes out.
///
/// # Errors
/// A template of the signature cannot be rendered.
pub(super) fn header(wire: &Wire, with: &Signing, vars: &Vars, secrets: &Secrets) -> Result<String, Unwritable> {
    let after_host = wire.url.split_once("://").map_or("", |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    let (path, query) = after_host.split_once('?').unwrap_or((after_host, ""));
    let request = json!({
        "method": wire.method, "path": path, "query": query, "body": wire.body.as_deref().unwrap_or_default(),
    });
    let bare: std::collections::BTreeMap<_, _> =
        secrets.iter().map(|(name, secret)| (name, secret.expose_secret())).collect();
    let text = with.sign.text(&Scope::new(&json!({"vars": vars, "secrets": bare, "request": request})))?;
    let key = secrets.get(&with.secret).map(|secret| secret.expose_secret()).unwrap_or_default();
    let mac = hmac_sha256(key.as_bytes(), text.as_bytes());
    let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    let signature = json!({"hex": hex, "base64": base64(&mac)});
    with.value.text(&Scope::new(&json!({"vars": vars, "secrets": bare, "signature": signature})))
}

fn hmac_sha256(key: &[u8], text: &[u8]) -> [u8; 32] {
    let hashed: [u8; 32];
    let key = if key.len() > BLOCK {
        hashed = Sha256::digest(key).into();
        &hashed[..]
    } else {
        key
    };
    let pad = |with: u8| -> Vec<u8> { (0..BLOCK).map(|at| key.get(at).copied().unwrap_or(0) ^ with).collect() };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test cases 1, 2 and 6 of RFC 4231.
    #[test]
    fn the_published_values_come_out() {
        let hex = |mac: [u8; 32]| mac.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let cases: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, text, wanted) in cases {
            assert_eq!(hex(hmac_sha256(key, text)), wanted);
        }
    }
}
