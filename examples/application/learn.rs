// Learns four answers and says how the loss went.
mod kedge_session;
use kedge_session::*;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

const FEATURES: [f32; 16] = [1., 0., 0., 1., 0., 1., 0., 1., 0., 0., 1., 0., 1., 1., 0., 0.];
const ANSWERS: [f32; 4] = [1., 0., 0.5, 1.];

struct Session(*mut KedgeSession);

fn text(word: &str) -> CString {
    CString::new(word).expect("a word without zeros")
}

impl Session {
    fn open(options: &[(&str, &str)]) -> Result<Session, String> {
        let words: Vec<_> = options.iter().map(|(name, value)| (text(name), text(value))).collect();
        let mut list: Vec<_> = words.iter().map(|(name, value)| KedgeOption { name: name.as_ptr(), value: value.as_ptr() }).collect();
        list.push(KedgeOption { name: null(), value: null() });
        let mut session = Session(null_mut());
        let code = unsafe { kedge_open(list.as_ptr(), &mut session.0) };
        session.check(code).map(|_| session)
    }

    fn check(&self, code: i32) -> Result<(), String> {
        match code {
            KEDGE_OK => Ok(()),
            _ => Err(unsafe { CStr::from_ptr(kedge_error(self.0)) }.to_string_lossy().into_owned()),
        }
    }

    fn keep(&self, name: &str, values: &[f32], rows: i64) -> Result<(), String> {
        self.check(unsafe { kedge_keep_input(self.0, text(name).as_ptr(), values.as_ptr().cast(), rows) })
    }

    fn step(&self) -> Result<f64, String> {
        let mut result = KedgeStepResult { step: 0, loss: 0., learning_rate: 0., gradient_norm: 0., skipped: 0 };
        self.check(unsafe { kedge_step(self.0, &mut result) }).map(|_| result.loss)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        unsafe { kedge_close(self.0) }
    }
}

fn main() -> Result<(), String> {
    let session = Session::open(&[("--lr", "0.02"), ("--threads", "1")])?;
    session.keep("features", &FEATURES, 4)?;
    session.keep("labels", &ANSWERS, 4)?;
    let first = session.step()?;
    let mut last = first;
    for _ in 1..100 {
        last = session.step()?;
    }
    println!("loss {first:.3} became {last:.6}");
    Ok(())
}
