//! Makes texts from the CRM fit to be shown: short, one line, no tricks with direction, links to its own host only.

use reqwest::Url;

use crate::catalog::profile::Profile;

/// The longest message shown to people, in characters.
const LONGEST_MESSAGE: usize = 300;
/// The longest id kept, in characters.
const LONGEST_ID: usize = 128;
/// The longest ticket number shown, in characters.
const LONGEST_NUMBER: usize = 64;
/// The longest link kept, in bytes.
const LONGEST_URL: usize = 2_000;

/// A message for people: one line, no control, direction or invisible characters, at most 300 characters.
pub(super) fn message(text: &str) -> String {
    let visible: String =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !is_trick(*c)).collect();
    let line = visible.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST_MESSAGE {
        return line;
    }
    let mut short: String = line.chars().take(LONGEST_MESSAGE - 1).collect();
    short.push('…');
    short
}

/// Characters that are not seen but change what is: controls, direction marks, zero widths, tags.
fn is_trick(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// An id as it is, if it is one: not empty, not long, nothing invisible, no spaces.
pub(super) fn id(text: String) -> Option<String> {
    let fits = !text.is_empty() && text.chars().count() <= LONGEST_ID;
    (fits && !text.chars().any(|c| is_trick(c) || c.is_whitespace())).then_some(text)
}

/// Whether a text may be shown to people as a ticket's number: by the profile's pattern, and by what no pattern can allow.
pub(super) fn is_number(profile: &Profile, text: &str) -> bool {
    profile.number.fits(text)
        && text.chars().count() <= LONGEST_NUMBER
        && text.trim() == text
        && !text.chars().any(is_trick)
}

/// Scheme, host and port of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// Of an http or https address without a user.
    pub(super) fn of(address: &str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        let plain = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        plain.then(|| Self { scheme: url.scheme().to_owned(), host: host.to_ascii_lowercase(), port })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Whether plain http would show everything to whoever stands between us and the host.
    pub(super) fn is_open_wire(&self) -> bool {
        if self.scheme == "https" {
            return false;
        }
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let private = match host.parse::<std::net::IpAddr>() {
            Ok(std::net::IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
            Ok(std::net::IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
            // A name without a dot is found on one's own network only (`redmine` beside us in a container).
            Err(_) => {
                let own = [".localhost", ".local", ".lan", ".internal", ".home.arpa", ".test"];
                !host.contains('.') || own.iter().any(|end| host.ends_with(end))
            }
        };
        !private
    }
}

impl std::fmt::Display for Origin {
    /// `https://host`, with its port where it is not the usual one.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        let usual = if self.scheme == "https" { 443 } else { 80 };
        if self.port == usual { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// The address of a file as an answer names it: https, or http on one's own network, and nothing invisible in it.
pub(super) fn address(text: String) -> Option<String> {
    let plain = text.len() <= LONGEST_URL && !text.chars().any(|c| is_trick(c) || c.is_whitespace());
    (plain && Origin::of(&text).is_some_and(|origin| !origin.is_open_wire())).then_some(text)
}

/// A link from an answer, only if it leads to one of the CRM's own addresses.
pub(super) fn own_url(text: &str, origins: &[Origin]) -> Option<String> {
    if text.len() > LONGEST_URL || text.chars().any(is_trick) {
        return None;
    }
    let origin = Origin::of(text)?;
    let upgraded = |known: &Origin| known.host == origin.host && origin.scheme == "https" && origin.port == 443;
    let own = origins.iter().any(|known| *known == origin || upgraded(known));
    own.then(|| Url::parse(text).map(String::from).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_short_line_without_tricks() {
        assert_eq!(message(" Поле\r\n\t«Тема»  обязательно \u{202e}txt\u{0} "), "Поле «Тема» обязательно txt");
        assert_eq!(message("a\u{200b}b\u{2066}c\u{e0041}d"), "abcd");
        assert_eq!(message("семья 👍🏽"), "семья 👍🏽");
        let long = message(&"я".repeat(1_000));
        assert_eq!((long.chars().count(), long.chars().last()), (300, Some('…')));
        assert_eq!(message(&"я".repeat(300)).chars().count(), 300);
    }

    #[test]
    fn a_files_address_is_one_that_nobody_reads_on_the_way() {
        for good in ["https://files.example/a?sign=1", "http://127.0.0.1:8088/a"] {
            assert_eq!(address(good.to_owned()).as_deref(), Some(good));
        }
        for bad in ["", "a.pdf", "ftp://h/a", "http://files.example/a", "https://u:p@h/a", "https://h/a b"] {
            assert_eq!(address(bad.to_owned()), None, "{bad:?}");
        }
    }

    #[test]
    fn an_id_has_no_spaces_and_an_end() {
        for good in ["1", "a-b_c", "заявка"] {
            assert_eq!(id(good.to_owned()).as_deref(), Some(good));
        }
        for bad in ["", "a b", "a\n", "\u{202e}1", &"1".repeat(129)] {
            assert_eq!(id(bad.to_owned()), None, "{bad:?}");
        }
    }

    #[test]
    fn a_number_is_short_and_plain_whatever_its_pattern_allows() {
        let text = crate::catalog::profile::built_in::text("generic-keyed").expect("it ships");
        let line = text.lines().find(|line| line.starts_with("pattern = ")).expect("there");
        let text = text.replacen(line, "pattern = '(?s)[^!]+'", 1).replacen("[^!]+", "[^!а-я]+", 1);
        let (profile, _) =
            crate::catalog::profile::load("p.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        for good in ["1", "№ 12/2026", "ABC-1", &"1".repeat(64)] {
            assert!(is_number(&profile, good), "{good}");
        }
        for bad in ["", "1!", " 1", "1\n", "1\u{202e}2", "1\u{200b}2", &"1".repeat(65)] {
            assert!(!is_number(&profile, bad), "{bad:?}");
        }
    }

    #[test]
    fn links_lead_to_the_crm_only() {
        let own: Vec<_> =
            ["http://crm.local:9100/api", "https://crm.example.ru"].iter().filter_map(|a| Origin::of(a)).collect();
        for good in [
            "http://crm.local:9100/t/1",
            "https://crm.example.ru/x?y#z",
            "https://CRM.example.ru:443/",
            "https://crm.local/t/1",
            // Full-width letters are those of the host to every browser; the link shown has the plain ones.
            "https://\u{ff23}\u{ff32}\u{ff2d}.example.ru/x",
        ] {
            assert!(own_url(good, &own).is_some(), "{good}");
        }
        for bad in [
            "https://evil.ru/",
            "http://crm.local:9101/t/1",
            "http://crm.example.ru/x",
            "javascript:alert(1)",
            "//crm.local:9100/x",
            "/t/1",
            "http://u:p@crm.local:9100/",
            "https://crm.example.ru.evil.ru/",
            "https://crm.example.ru@evil.ru/",
            "tg://x",
            "https://evil.ru\\@crm.example.ru/",
            "https://crm.example.ru:443@evil.ru/",
            "https://crm.example.ru%2eevil.ru/",
            "https://crm.example.ru:444/",
            "https://crm.example.ru.:443/",
            // Letters that only look like those of the host.
            "https://crm.ex\u{430}mple.ru/",
            "https://\u{441}rm.example.ru/",
            "https://crm.example\u{2024}ru.evil.ru/",
            "https:/\u{2044}crm.example.ru/",
            "https://[::ffff:1.2.3.4]/",
            "data:text/html,x",
            "HTTPS://EVIL.RU/crm.example.ru",
            "https://crm.example.ru\n.evil.ru/",
            "ftp://crm.example.ru/",
            "https://crm.example.ru/\u{202e}x",
            &format!("https://crm.example.ru/{}", "a".repeat(3_000)),
        ] {
            assert_eq!(own_url(bad, &own), None, "{bad}");
        }
    }

    #[test]
    fn plain_http_is_for_ones_own_network() {
        let open = |address: &str| Origin::of(address).expect("an address").is_open_wire();
        for own in [
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://10.0.0.7",
            "http://redmine:3000",
            "http://crm.local",
            "https://crm.ru",
        ] {
            assert!(!open(own), "{own}");
        }
        for public in ["http://crm.ru", "http://8.8.8.8", "http://[2001:db8::1]"] {
            assert!(open(public), "{public}");
        }
    }
}
