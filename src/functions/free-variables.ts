import type { AnyNode, Expression, Function as FunctionNode, Pattern } from 'acorn';

/** What a piece of code takes from outside itself. */
export interface OuterNames {
	/** Names that the code neither declares nor asks for with `typeof` only, in order of appearance. */
	readonly names: readonly string[];
	/** Where `import.meta` stands, as offsets into the source. */
	readonly importMeta: readonly (readonly [start: number, end: number])[];
}

/** Finds the names that an expression uses and doesn't declare, `this` of an outer function included. */
export function outerNames(expression: Expression): OuterNames {
	const walker = new ScopeWalker();
	walker.visit(expression, new Scope(null, false));
	return { names: [...walker.names], importMeta: walker.importMeta };
}

class Scope {
	readonly #declared = new Set<string>();

	constructor(
		readonly outer: Scope | null,
		/** Whether `this` belongs to something inside the code. */
		readonly ownsThis: boolean,
	) {}

	declare(names: Iterable<string>): void {
		for (const name of names) this.#declared.add(name);
	}

	knows(name: string): boolean {
		return this.#declared.has(name) || (this.outer?.knows(name) ?? false);
	}

	/** A scope inside this one. */
	inner(names: Iterable<string> = [], ownsThis = this.ownsThis): Scope {
		const scope = new Scope(this, ownsThis);
		scope.declare(names);
		return scope;
	}
}

class ScopeWalker {
	readonly names = new Set<string>();
	readonly importMeta: [number, number][] = [];

	visit(node: AnyNode, scope: Scope): void {
		switch (node.type) {
			case 'Identifier':
				this.#refer(node.name, scope);
				break;
			case 'ThisExpression':
				if (!scope.ownsThis) this.names.add('this');
				break;
			case 'MetaProperty':
				if (node.meta.name === 'import') this.importMeta.push([node.start, node.end]);
				break;
			case 'UnaryExpression':
				// asking for the type of something that doesn't exist is no error
				if (node.operator !== 'typeof' || node.argument.type !== 'Identifier') {
					this.visit(node.argument, scope);
				}
				break;
			case 'MemberExpression':
				this.visit(node.object, scope);
				if (node.computed) this.visit(node.property, scope);
				break;
			case 'Property':
			case 'MethodDefinition':
			case 'PropertyDefinition':
				if (node.computed) this.visit(node.key, scope);
				if (node.value) {
					const field = node.type === 'PropertyDefinition';
					this.visit(node.value, field ? scope.inner([], true) : scope);
				}
				break;
			case 'LabeledStatement':
				this.visit(node.body, scope);
				break;
			case 'BreakStatement':
			case 'ContinueStatement':
				break;
			case 'FunctionDeclaration':
			case 'FunctionExpression':
			case 'ArrowFunctionExpression':
				this.#function(node, scope);
				break;
			case 'ClassDeclaration':
			case 'ClassExpression': {
				const inner = scope.inner(node.id ? [node.id.name] : []);
				if (node.superClass) this.visit(node.superClass, inner);
				for (const member of node.body.body) this.visit(member, inner);
				break;
			}
			case 'StaticBlock': {
				const inner = scope.inner([...varNames(node.body), ...lexicalNames(node.body)], true);
				for (const statement of node.body) this.visit(statement, inner);
				break;
			}
			case 'BlockStatement':
				this.#children(node, scope.inner(lexicalNames(node.body)));
				break;
			case 'SwitchStatement': {
				this.visit(node.discriminant, scope);
				const inner = scope.inner(lexicalNames(node.cases.flatMap((one) => one.consequent)));
				for (const one of node.cases) this.visit(one, inner);
				break;
			}
			case 'ForStatement':
				this.#children(node, scope.inner(node.init ? lexicalNames([node.init]) : []));
				break;
			case 'ForInStatement':
			case 'ForOfStatement':
				this.#children(node, scope.inner(lexicalNames([node.left])));
				break;
			case 'CatchClause': {
				const inner = scope.inner(node.param ? patternNames(node.param) : []);
				this.#children(node, inner);
				break;
			}
			default:
				this.#children(node, scope);
		}
	}

	#refer(name: string, scope: Scope): void {
		if (!scope.knows(name)) this.names.add(name);
	}

	#function(node: FunctionNode, scope: Scope): void {
		const arrow = node.type === 'ArrowFunctionExpression';
		const inner = scope.inner(node.params.flatMap(patternNames), arrow ? scope.ownsThis : true);
		if (!arrow) inner.declare(['arguments', ...(node.id ? [node.id.name] : [])]);
		for (const param of node.params) this.visit(param, inner);
		if (node.body.type === 'BlockStatement') inner.declare(varNames(node.body.body));
		this.visit(node.body, inner);
	}

	#children(node: AnyNode, scope: Scope): void {
		for (const child of childrenOf(node)) this.visit(child, scope);
	}
}

function* childrenOf(node: AnyNode): Generator<AnyNode> {
	for (const value of Object.values(node)) {
		for (const child of Array.isArray(value) ? value : [value]) {
			if (typeof child === 'object' && child !== null && typeof child.type === 'string') {
				yield child as AnyNode;
			}
		}
	}
}

/** The names that a pattern binds. */
function patternNames(pattern: Pattern): string[] {
	switch (pattern.type) {
		case 'Identifier':
			return [pattern.name];
		case 'ObjectPattern':
			return pattern.properties.flatMap((property) =>
				patternNames(property.type === 'Property' ? property.value : property.argument),
			);
		case 'ArrayPattern':
			return pattern.elements.flatMap((element) => (element ? patternNames(element) : []));
		case 'AssignmentPattern':
			return patternNames(pattern.left);
		case 'RestElement':
			return patternNames(pattern.argument);
		default:
			return [];
	}
}

/** What `let`, `const`, `using`, `class` and `function` declare directly among these statements. */
function lexicalNames(statements: readonly AnyNode[]): string[] {
	return statements.flatMap((statement) => {
		if (statement.type === 'VariableDeclaration' && statement.kind !== 'var') {
			return statement.declarations.flatMap((declaration) => patternNames(declaration.id));
		}
		if (statement.type === 'FunctionDeclaration' || statement.type === 'ClassDeclaration') {
			return statement.id ? [statement.id.name] : [];
		}
		return statement.type === 'LabeledStatement' ? lexicalNames([statement.body]) : [];
	});
}

/** What `var` declares among these statements at any depth, without the functions inside. */
function varNames(nodes: readonly AnyNode[]): string[] {
	return nodes.flatMap((node) => {
		if (/^(Function|Arrow|Class|StaticBlock)/.test(node.type)) return [];
		const own =
			node.type === 'VariableDeclaration' && node.kind === 'var'
				? node.declarations.flatMap((declaration) => patternNames(declaration.id))
				: [];
		return [...own, ...varNames([...childrenOf(node)])];
	});
}
