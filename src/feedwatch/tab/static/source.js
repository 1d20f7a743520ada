// Where reports come from: the plugin's routes, or the data inside a stand-alone HTML file.

const embedded = () => {
  const block = document.getElementById('feedwatch-data');
  return block ? JSON.parse(block.textContent) : null;
};

async function ask(address) {
  const response = await fetch(address, {credentials: 'same-origin'});
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error || `TensorBoard answered ${response.status}.`);
  return answer;
}

const named = (values) => new URLSearchParams(values).toString();

export function openSource() {
  const file = embedded();
  if (!file) {
    return {
      live: true,
      runs: async () => (await ask('./summary')).runs,
      report: async (run) => ask('./report?' + named({run})),
      rule: async (code) => (await ask('./rule?' + named({code}))).page,
      comparison: async (before, after) => ask('./compare?' + named({before, after})),
    };
  }
  const reports = new Map(file.reports.map((entry) => [entry.run, entry]));
  return {
    live: false,
    runs: async () => file.reports.map((entry) => entry.row),
    report: async (run) => reports.get(run),
    rule: async (code) => {
      if (!Object.hasOwn(file.rules, code)) throw new Error('This file does not hold the page of this rule.');
      return file.rules[code];
    },
    comparison: async (before, after) => file.comparisons.find((each) => each.before === before && each.after === after) || {},
  };
}
