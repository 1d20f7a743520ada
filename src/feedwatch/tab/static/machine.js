// Copies to the device, the device, the host: what the hardware did.
import {bar, card, h, num, part, text} from './dom.js';
import {count, ms, NOT_MEASURED, number, percent, rate, size} from './words.js';

export function transfersCard(report) {
  const t = part(report.transfers);
  if (!report.transfers) return null;
  const link = num(t.link_gb_per_s), speed = num(t.gb_per_s);
  const note = `${count(num(t.windows) || 0, 'profiler window')}${text(t.source) ? ', ' + text(t.source) : ''}`;
  return card('Copies to the device', note,
    h('dl', {class: 'figures'},
      figure('Per step', size(bytes(t.mb_per_step, 1e6)), num(t.copies) === null ? null : `in ${count(t.copies, 'copy', 'copies')}`),
      figure('Speed', rate(speed), link === null ? null : `of ${rate(link)} the link can carry`, link && speed !== null ? speed / link : null),
      figure('Hidden behind compute', percent(t.hidden_share), null, num(t.hidden_share), 'p-compute'),
      figure('Exposed', ms(t.exposed_ms_per_step), 'added to each step')),
    kinds(part(t.by_kind)));
}

function kinds(byKind) {
  const rows = Object.entries(byKind).map(([kind, value]) => [kind, part(value)]).filter(([, value]) => num(value.mb) > 0);
  const total = rows.reduce((sum, [, value]) => sum + value.mb, 0);
  if (!rows.length) return null;
  return h('ul', {class: 'rows'}, rows.map(([kind, value]) => h('li', {class: 'row kind'},
    h('span', {class: 'who'}, KIND_WORDS[kind] || kind),
    bar(value.mb / total, 'p-h2d'),
    h('span', {class: 'n'}, percent(value.mb / total)),
    h('span', {class: 'remark'}, rate(value.gb_per_s)))));
}

const bytes = (value, per) => (num(value) === null ? null : value * per);

const KIND_WORDS = {pinned: 'from pinned memory', pageable: 'from pageable memory', other: 'other memory', unknown: 'memory unknown'};

export function machineCard(report) {
  const device = part(report.device), host = part(report.host);
  const cpus = num(host.cpu_budget), used = num(host.cpu_used);
  const figures = [
    report.device ? meter('Device busy', device.utilisation, 'some kernel ran') : null,
    report.device ? meter('Device idle', device.idle_share, 'seen by a profiler window') : null,
    report.device ? meter('Device memory', device.memory_used_share, 'in use') : null,
    num(device.pcie_rx_gb_per_s) === null ? null : figure('PCIe, to the device', rate(device.pcie_rx_gb_per_s)),
    figure('CPU', used === null ? NOT_MEASURED : `${number(used)} of ${cpus === null ? '?' : number(cpus)}`, 'cores in use', cpus && used !== null ? used / cpus : null),
    num(host.iowait_share) === null ? null : meter('Waiting for storage', host.iowait_share, 'of the CPU time'),
    num(host.ram_available_gb) === null ? null : figure('Memory available', size(bytes(host.ram_available_gb, 1e9))),
  ].filter(Boolean);
  if (!report.device && used === null) return null;
  return card('Machine', report.device ? null : 'no device figures', h('dl', {class: 'figures'}, figures));
}

const meter = (name, share, words) => (num(share) === null ? null : figure(name, percent(share), words, share));

export function figure(name, value, words, share, kind) {
  return h('div', {}, h('dt', {}, name), h('dd', {class: value === NOT_MEASURED ? 'quiet' : ''}, value),
    share === null || share === undefined ? null : h('dd', {class: 'gauge'}, bar(share, kind)),
    words && value !== NOT_MEASURED ? h('dd', {class: 'words'}, words) : null);
}
