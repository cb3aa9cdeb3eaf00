//! Native half of `URL`.

use serde::Deserialize;
use serde_json::json;
use url::{Url, quirks};

use super::{NativeError, NativeRequest};
use crate::engine::NativeReply;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UrlArguments {
    href: String,
    base: Option<String>,
    property: String,
    value: String,
    path: String,
}

pub(super) fn run(request: &NativeRequest) -> Result<NativeReply, NativeError> {
    let arguments: UrlArguments = request.read()?;
    match request.operation.as_str() {
        "parse" => {
            let base = match &arguments.base {
                Some(base) => Some(Url::parse(base).map_err(|_why| invalid(base))?),
                None => None,
            };
            let url = Url::options()
                .base_url(base.as_ref())
                .parse(&arguments.href);
            url.map(|url| describe(&url))
                .map_err(|_why| invalid(&arguments.href))
        }
        "set" => {
            let mut url = Url::parse(&arguments.href).map_err(|_why| invalid(&arguments.href))?;
            set(&mut url, &arguments.property, &arguments.value)?;
            Ok(describe(&url))
        }
        "fromPath" => Url::from_file_path(&arguments.path)
            .map(|url| NativeReply::Text(url.to_string()))
            .map_err(|()| invalid(&arguments.path)),
        "toPath" => {
            let url = Url::parse(&arguments.href).map_err(|_why| invalid(&arguments.href))?;
            if url.scheme() != "file" {
                return Err(NativeError::new("The URL must be of scheme file")
                    .with_code("ERR_INVALID_URL_SCHEME"));
            }
            url.to_file_path()
                .map(|path| NativeReply::Text(path.to_string_lossy().into_owned()))
                .map_err(|()| invalid(&arguments.href))
        }
        "toAscii" => Ok(NativeReply::Text(quirks::domain_to_ascii(&arguments.href))),
        "toUnicode" => Ok(NativeReply::Text(quirks::domain_to_unicode(
            &arguments.href,
        ))),
        _ => Err(request.unknown("url")),
    }
}

fn invalid(_: &str) -> NativeError {
    NativeError::new("Invalid URL").with_code("ERR_INVALID_URL")
}

fn set(url: &mut Url, property: &str, value: &str) -> Result<(), NativeError> {
    // By the standard, setters ignore invalid values.
    match property {
        "href" => *url = Url::parse(value).map_err(|_why| invalid(value))?,
        "protocol" => quirks::set_protocol(url, value).unwrap_or_default(),
        "username" => quirks::set_username(url, value).unwrap_or_default(),
        "password" => quirks::set_password(url, value).unwrap_or_default(),
        "host" => quirks::set_host(url, value).unwrap_or_default(),
        "hostname" => quirks::set_hostname(url, value).unwrap_or_default(),
        "port" => quirks::set_port(url, value).unwrap_or_default(),
        "pathname" => quirks::set_pathname(url, value),
        "search" => quirks::set_search(url, value),
        "hash" => quirks::set_hash(url, value),
        _ => {}
    }
    Ok(())
}

fn describe(url: &Url) -> NativeReply {
    NativeReply::Json(json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    }))
}
