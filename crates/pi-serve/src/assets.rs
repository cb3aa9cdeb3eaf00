//! The page: static files in the binary, without secrets.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use pi_web::Asset;

use crate::body::{Reply, empty_reply, reply};
use crate::problem::Problem;

/// Returns the file with exactly this path.
pub(crate) fn serve_asset(path: &str, headers: &HeaderMap) -> Result<Reply, Problem> {
    let asset = Asset::find(path);
    let asset = asset.ok_or_else(|| Problem::not_found("there is no such page"))?;
    let known = headers.get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == asset.etag.as_bytes());
    let mut answer = if is_known {
        empty_reply(StatusCode::NOT_MODIFIED)
    } else {
        file(asset, accepts_gzip(headers))?
    };
    let headers = answer.headers_mut();
    headers.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    // Asked for again every time, so that a new release is used at once.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Ok(answer)
}

fn file(asset: &Asset, gzip: bool) -> Result<Reply, Problem> {
    if !gzip {
        let bytes = asset.content();
        let bytes = bytes.map_err(|error| Problem::internal(&error))?;
        return Ok(reply(StatusCode::OK, asset.content_type, bytes.into()));
    }
    let body = Bytes::from_static(asset.gzip);
    let mut answer = reply(StatusCode::OK, asset.content_type, body);
    let gzip = HeaderValue::from_static("gzip");
    answer.headers_mut().insert(header::CONTENT_ENCODING, gzip);
    Ok(answer)
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING);
    accepted
        .and_then(|accepted| accepted.to_str().ok())
        .is_some_and(|accepted| {
            accepted
                .split(',')
                .any(|coding| coding.trim().eq_ignore_ascii_case("gzip"))
        })
}
