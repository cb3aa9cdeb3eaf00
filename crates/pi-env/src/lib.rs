//! The environment of the process: variables, home directory and clock, all injectable; and the version of pi.
//!
//! ```
//! use pi_env::{Env, env_vars};
//!
//! let env = Env::fixed([("HOME", "/home/u"), (env_vars::OFFLINE, "")]).with_clock(|| 1_000);
//! assert_eq!(env.home_dir(), Some("/home/u".into()));
//! assert_eq!(env.var(env_vars::OFFLINE), None, "an empty value counts as unset");
//! assert_eq!(env.now_ms(), 1_000);
//! ```

mod env;
pub mod env_vars;
mod version;

pub use env::Env;
pub use version::{RELEASE_NUMBER, VERSION, release};
