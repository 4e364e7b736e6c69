// speedscope.mjs MODULES FOLDED TOTAL NAME...: opens a folded file in speedscope, in a headless Chromium, and looks whether
// it shows TOTAL and these names. MODULES: a directory with node_modules of speedscope and playwright-core. TAP.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createRequire } from 'node:module';

const [modules, folded, total, ...names] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'package.json'));
const { chromium } = require('playwright-core');
const release = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist', 'release');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

const server = http.createServer((request, response) => {
	const name = new URL(request.url, 'http://x').pathname;
	const file = name === '/profile' ? folded : path.join(release, name === '/' ? 'index.html' : name);
	if (!fs.existsSync(file)) {
		response.writeHead(404).end();
		return;
	}
	response.writeHead(200, { 'content-type': types[path.extname(file)] ?? 'text/plain' });
	fs.createReadStream(file).pipe(response);
});
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--enable-unsafe-swiftshader'] });
let bad = false;
let n = 0;
const ok = (good, name, told) => {
	console.log(`${good ? 'ok' : 'not ok'} ${++n} - ${name}`);
	if (!good) {
		bad = true;
		console.log(`# ${told.replace(/\n/g, ' | ').slice(0, 1500)}`);
	}
};
try {
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	await page.goto(`${origin}/#profileURL=${encodeURIComponent(origin + '/profile')}`);
	// The list of functions with their totals.
	await page.getByText('Sandwich').click({ timeout: 60000 });
	await page.getByText(names[0], { exact: true }).first().waitFor({ timeout: 60000 });
	const text = await page.evaluate(() => document.body.innerText);
	const rows = text.split('\n').map((line) => line.trim());
	for (const name of names)
		ok(rows.includes(name), `it shows ${name}`, text);
	// The watch is in all stacks: its total is the sum.
	ok(text.includes(`${total} (100%)`), `the total is ${total}`, text);
} finally {
	await browser.close();
	server.close();
}
console.log(`1..${n}`);
process.exitCode = bad ? 1 : 0;
