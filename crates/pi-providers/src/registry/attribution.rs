//! Headers that let some services attribute traffic to pi, and the session header that `OpenCode`
//! uses for routing.

use pi_http::HeaderOverrides;
use pi_protocol::Model;

/// Whether to send attribution headers in addition to the user agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Telemetry {
    #[default]
    Off,
    On,
}

/// A service that reads attribution headers: its provider IDs, its hosts and the headers to send.
struct Attribution {
    providers: &'static [&'static str],
    hosts: &'static [&'static str],
    headers: &'static [(&'static str, &'static str)],
}

const OPENCODE: Attribution = Attribution {
    providers: &["opencode", "opencode-go"],
    hosts: &["opencode.ai"],
    headers: &[("x-opencode-client", "pi")],
};

const ATTRIBUTIONS: [Attribution; 3] = [
    Attribution {
        providers: &["openrouter"],
        hosts: &["openrouter.ai"],
        headers: &[
            ("http-referer", "https://pi.dev"),
            ("x-openrouter-title", "pi"),
            ("x-openrouter-categories", "cli-agent"),
        ],
    },
    Attribution {
        providers: &["nvidia"],
        hosts: &["integrate.api.nvidia.com"],
        headers: &[("x-billing-invoke-origin", "Pi")],
    },
    OPENCODE,
];

/// Returns the attribution and session headers for a request.
pub(super) fn headers(
    model: &Model,
    session_id: Option<&str>,
    telemetry: Telemetry,
) -> HeaderOverrides {
    let mut headers = HeaderOverrides::new();
    if let Some(session_id) = session_id
        && OPENCODE.applies_to(model)
    {
        headers.insert("x-opencode-session".to_owned(), Some(session_id.to_owned()));
    }
    if telemetry == Telemetry::On {
        let matching = ATTRIBUTIONS
            .iter()
            .filter(|service| service.applies_to(model));
        headers.extend(
            matching
                .flat_map(|service| service.headers)
                .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))),
        );
    }
    headers
}

impl Attribution {
    fn applies_to(&self, model: &Model) -> bool {
        self.providers.contains(&model.provider.as_str())
            || host(&model.base_url).is_some_and(|host| self.hosts.contains(&host))
    }
}

fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    host.split(':').next()
}
