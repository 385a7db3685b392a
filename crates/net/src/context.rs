//! What a worker is told in its environment: where its driver is and what it works for.
//!
//! Text of the form `key=value:key=value`. In keys and values `%`, `:` and `=` are written `%25`,
//! `%3A` and `%3D`. Unknown keys are left for later versions, other escapes stand for themselves.

use std::path::PathBuf;

use crate::secret::Secret;

/// The environment variable that carries it.
pub const CONTEXT_VARIABLE: &str = "BELLIS_CONTEXT";

/// A worker's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerContext {
    /// Name or address of the driver.
    pub hostname: String,
    /// Its port.
    pub port: u16,
    /// What lets a worker in.
    pub secret: SecretSource,
    /// The driver's machine ([`own_machine`](crate::own_machine)), for loopback addresses.
    pub machine: Option<String>,
    /// The task.
    pub task_id: String,
    /// The worker's number; none for one that comes by itself.
    pub worker_id: Option<u32>,
    /// Where log files go; none for no files.
    pub log_dir: Option<String>,
    /// Whether blocks are measured.
    pub resource_tracking: bool,
    /// A folder in which a worker of the driver's machine has a file of [`NOTE_WORDS`] words, by its
    /// number.
    ///
    /// [`NOTE_WORDS`]: crate::NOTE_WORDS
    pub notes: Option<PathBuf>,
}

/// Where a worker has the secret from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// The context itself: for direct children only.
    Inline(Secret),
    /// A file that only its owner may read ([`write_secret_file`](crate::write_secret_file)).
    File(PathBuf),
}

/// What is wrong with the text of a context.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// A part has no `=`. The part isn't shown: it may be a secret.
    #[error("part {0} of the context isn't of the form key=value")]
    NoValue(usize),
    /// A key that must be there.
    #[error("the context has no {0}")]
    Missing(&'static str),
    /// A value that can't be one of this key. The value isn't shown: it may be a secret.
    #[error("the context's {0} isn't valid")]
    Invalid(&'static str),
}

impl WorkerContext {
    /// As text. It holds the secret where that is inline.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        let mut add = |key: &str, value: &str| {
            if !text.is_empty() {
                text.push(':');
            }
            text.push_str(key);
            text.push('=');
            escape(value, &mut text);
        };
        add("hostname", &self.hostname);
        add("port", &self.port.to_string());
        match &self.secret {
            SecretSource::Inline(secret) => add("secret", &secret.to_hex()),
            SecretSource::File(path) => add("secret_file", &path.to_string_lossy()),
        }
        if let Some(machine) = &self.machine {
            add("machine", machine);
        }
        add("task_id", &self.task_id);
        if let Some(worker) = self.worker_id {
            add("worker_id", &worker.to_string());
        }
        add("logdir", self.log_dir.as_deref().unwrap_or(""));
        add(
            "resource_tracking",
            if self.resource_tracking { "1" } else { "0" },
        );
        if let Some(notes) = &self.notes {
            add("notes", &notes.to_string_lossy());
        }
        text
    }

    /// From text. Of a key that comes twice, the last value counts.
    ///
    /// # Errors
    /// A part without `=`, a missing key or an impossible value, by name.
    pub fn decode(text: &str) -> Result<WorkerContext, ContextError> {
        let mut hostname = None;
        let mut port = None;
        let mut secret = None;
        let mut machine = None;
        let mut task_id = None;
        let mut worker_id = None;
        let mut log_dir = None;
        let mut resource_tracking = false;
        let mut notes = None;
        for (position, part) in text.split(':').enumerate() {
            if part.is_empty() {
                continue;
            }
            let (key, value) = part
                .split_once('=')
                .ok_or(ContextError::NoValue(position))?;
            let value = unescape(value);
            match unescape(key).as_str() {
                "hostname" => hostname = Some(value),
                "port" => port = Some(number(&value, "port")?),
                "secret" => {
                    let inline = Secret::from_hex(&value);
                    secret = Some(SecretSource::Inline(
                        inline.ok_or(ContextError::Invalid("secret"))?,
                    ));
                }
                "secret_file" => secret = Some(SecretSource::File(PathBuf::from(value))),
                "machine" => machine = Some(value),
                "task_id" => task_id = Some(value),
                "worker_id" => worker_id = Some(number(&value, "worker_id")?),
                "logdir" => log_dir = (!value.is_empty()).then_some(value),
                "resource_tracking" => {
                    resource_tracking = matches!(value.as_str(), "1" | "true" | "True");
                }
                "notes" => notes = (!value.is_empty()).then(|| PathBuf::from(value)),
                _ => {}
            }
        }
        Ok(WorkerContext {
            hostname: hostname.ok_or(ContextError::Missing("hostname"))?,
            port: port.ok_or(ContextError::Missing("port"))?,
            secret: secret.ok_or(ContextError::Missing("secret or secret_file"))?,
            machine,
            task_id: task_id.ok_or(ContextError::Missing("task_id"))?,
            worker_id,
            log_dir,
            resource_tracking,
            notes,
        })
    }
}

fn number<T: std::str::FromStr>(text: &str, key: &'static str) -> Result<T, ContextError> {
    text.parse().map_err(|_| ContextError::Invalid(key))
}

fn escape(value: &str, text: &mut String) {
    for character in value.chars() {
        match character {
            '%' => text.push_str("%25"),
            ':' => text.push_str("%3A"),
            '=' => text.push_str("%3D"),
            other => text.push(other),
        }
    }
}

fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let replaced = match rest.get(..3) {
            Some("%25") => '%',
            Some("%3A" | "%3a") => ':',
            Some("%3D" | "%3d") => '=',
            _ => {
                text.push('%');
                rest = &rest[1..];
                continue;
            }
        };
        text.push(replaced);
        rest = &rest[3..];
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn example() -> WorkerContext {
        WorkerContext {
            hostname: "fd00::1".into(),
            port: 4711,
            secret: SecretSource::File("/run/a:b/secret".into()),
            machine: None,
            task_id: "a=b:100%".into(),
            worker_id: Some(3),
            log_dir: None,
            resource_tracking: true,
            notes: None,
        }
    }

    #[test]
    fn it_is_written_as_promised() {
        assert_eq!(
            example().encode(),
            "hostname=fd00%3A%3A1:port=4711:secret_file=/run/a%3Ab/secret:\
             task_id=a%3Db%3A100%25:worker_id=3:logdir=:resource_tracking=1"
        );
    }

    #[test]
    fn case_order_and_unknown_keys_are_taken_as_they_come() {
        let text = "::later=x:resource_tracking=True:worker_id=3:task_id=a%3db%3a100%25:\
                    secret_file=/run/a%3Ab/secret:port=4711:hostname=fd00%3a%3A1:";
        assert_eq!(WorkerContext::decode(text), Ok(example()));
        assert_eq!(unescape("100%, %zz, é%2"), "100%, %zz, é%2");
    }

    #[test]
    fn what_is_wrong_is_named_and_no_value_is_shown() {
        let cases = [
            ("hostname=a:port", ContextError::NoValue(1)),
            ("", ContextError::Missing("hostname")),
            ("hostname=a:port=70000", ContextError::Invalid("port")),
            (
                "hostname=a:port=1:secret=abc",
                ContextError::Invalid("secret"),
            ),
            (
                "hostname=a:port=1",
                ContextError::Missing("secret or secret_file"),
            ),
            (
                "hostname=a:port=1:secret_file=x:worker_id=-1",
                ContextError::Invalid("worker_id"),
            ),
        ];
        for (text, error) in cases {
            assert_eq!(WorkerContext::decode(text), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_context_goes_there_and_back(
            hostname in ".*", port: u16, secret: [u8; 32], task_id in ".*",
            worker_id: Option<u32>, log_dir in proptest::option::of(".+"), machine in proptest::option::of(".*"),
            resource_tracking: bool, notes in proptest::option::of(".+"),
        ) {
            let context = WorkerContext {
                hostname, port, secret: SecretSource::Inline(Secret::from_bytes(secret)), machine,
                task_id, worker_id, log_dir, resource_tracking,
                notes: notes.map(PathBuf::from),
            };
            prop_assert_eq!(WorkerContext::decode(&context.encode()), Ok(context));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = WorkerContext::decode(&text);
        }
    }
}
